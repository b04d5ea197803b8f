import { expect, test } from 'vitest';
import { definePack } from '../../src/packs/define-pack.js';
import { signatures } from '../../src/packs/signatures.js';
import type { LimitsInput, Pack } from '../../src/packs/types.js';
import { turns, until } from '../support/manual-clock.js';
import { type Flow, gate, record, useBench } from '../support/work-bench.js';

const openBench = useBench();

const limitedPack = (limits: LimitsInput, flow: Flow): Pack =>
  definePack({
    name: 'bench',
    version: '1.0.0',
    limits,
    routes: {
      events: {
        version: 1,
        verify: signatures.github({ secret: 'a secret of the test' }),
        materialize: () => ({ deliveries: [] }),
        flow,
      },
    },
  });

test('[LIM-1] the limits of a pack bound its flows, whatever slots there are', async () => {
  const bench = await openBench();
  await bench.admitSources(6);
  const hold = gate();
  const pack = limitedPack({ namespace: { concurrency: 2 } }, () => hold.opened);
  const supervisor = bench.supervise(pack, {
    settings: { workersPerPack: 4, queueProfile: 'default-heavy' },
  });
  const started = record(supervisor.events, 'started');
  supervisor.start();
  await until(() => started.length === 2, 'two run');
  for (let second = 0; second < 3; second++) await bench.clock.advance(1_000);
  expect(started).toHaveLength(2);
  hold.open();
  await until(() => bench.states().every((state) => state === 'completed'), 'all run');
});

test('[LIM-1] namespaces take turns under a limit of their pack, and a place that is freed is taken at once', async () => {
  const bench = await openBench();
  const [other] = await bench.store.installPacks([{ namespace: 'other', pack: 'bench', version: '1.0.0' }]);
  await bench.admitSources(12);
  await bench.admitSources(4, ['default'], other!);
  const order: string[] = [];
  const pack = limitedPack({ pack: { concurrency: 1 } }, async ({ namespace }) => {
    order.push(namespace);
    await turns();
  });
  const supervisor = bench.supervise(pack, {
    packs: [bench.installed, other!].map((installed) => ({ pack, installed })),
  });
  supervisor.start();
  // No clock moves here: nobody waits for a timer to find a free place.
  await until(() => order.length === 16, 'all have run');
  const turnsOfOther = order.flatMap((namespace, place) => (namespace === 'other' ? [place] : []));
  expect(turnsOfOther.every((place, number) => place <= 2 * number + 3)).toBe(true);
});

test.each([
  ['interactive', 'bulk'],
  ['bulk', 'interactive'],
] as const)(
  '[LIM-1] [RSV-4] under a limit with one place, %s work leaves %s its turns',
  async (steady, other) => {
    const bench = await openBench();
    await bench.admitSources(40, [steady]);
    const order: string[] = [];
    const pack = limitedPack({ namespace: { concurrency: 1 } }, async ({ sourceKey }) => {
      order.push(sourceKey);
      if (order.length === 1)
        await bench.admit({
          events: [1, 2, 3].map((n) => ({ source: `other-${n}`, queueClass: other })),
        });
      await turns();
    });
    const supervisor = bench.supervise(pack);
    supervisor.start();
    await until(() => order.length === 43, 'all have run');
    const places = order.flatMap((source, place) => (source.startsWith('other') ? [place] : []));
    // Three shapes share the place in turn.
    expect(places.every((place, number) => place <= 4 * (number + 1))).toBe(true);
  },
);
