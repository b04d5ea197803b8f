import { expect, test } from 'vitest';
import { packOf, useBench } from '../support/work-bench.js';

const openBench = useBench();

test('the log says why workers take no more work, and why they start', async () => {
  const bench = await openBench();
  const pack = packOf(() => undefined);
  const { installed } = bench;
  const supervisor = bench.supervise(pack);
  supervisor.start();
  const change = async (...packs: Parameters<typeof supervisor.reconcile>[0]) => {
    await supervisor.reconcile(packs);
    return bench.log.lines
      .filter(({ message }) => message.startsWith('workers '))
      .map(({ fields }) => (fields as { reason: string }).reason);
  };
  expect(await change({ pack, installed })).toEqual(['new']);
  expect(await change({ pack, installed: { ...installed, status: 'paused' } })).toEqual(['new', 'paused']);
  expect((await change({ pack, installed })).slice(2)).toEqual(['resumed']);
  const next = { ...installed, version: '9.0.0', generation: 2 };
  const upgraded = `upgraded from ${installed.version} to 9.0.0`;
  expect((await change({ pack, installed: next })).slice(3)).toEqual([upgraded, upgraded]);
  const other = packOf(() => undefined);
  const anew = ['defined anew', 'defined anew'];
  expect((await change({ pack: other, installed: next })).slice(5)).toEqual(anew);
  expect((await change()).slice(7)).toEqual(['removed']);
});
