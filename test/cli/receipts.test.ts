import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { run, runHere, SLOW, send, serve, temporaryFolder } from './processes.js';

/** A pack named `steered`, so that `send` signs for it, with this `materialize`. */
const packText = (materialize: string) => `
import { definePack, signatures } from 'lanehead';
export default definePack({
  name: 'steered',
  version: '1.0.0',
  routes: {
    events: {
      version: 1,
      verify: signatures.github({ secret: 'known to the test' }),
      materialize: (receipt) => { ${materialize} },
      flow: () => {},
    },
  },
});
`;
const BROKEN = "throw new TypeError('no repository: ' + receipt.header('x-github-delivery'));";
const FIXED = `return { deliveries: [{ key: receipt.header('x-github-delivery'), events: [
  { type: receipt.header('x-github-event'), sourceKey: receipt.json().source },
] }] };`;

describe('lanehead receipts', SLOW, () => {
  test('quarantined requests are listed, and materialized again by the corrected pack', async () => {
    const folder = temporaryFolder();
    const around = { folder };
    const pack = join(folder, 'pack.ts');
    writeFileSync(pack, packText(BROKEN));
    const serving = await serve([pack, '--namespace', 'acme'], around);
    const webhooks = `${serving.listening.url}/in/acme/steered/events`;
    for (const id of ['one', 'two', 'three']) {
      expect(await send(webhooks, { id, type: 'push', source: id })).toBe(202);
    }
    serving.child.kill('SIGTERM');
    await serving.ended;

    const list = async (status: string) => {
      const { stdout } = await runHere(['receipts', 'list', '--status', status, '--json'], around);
      return (JSON.parse(stdout) as { items: { id: string; error: object; events: number }[] }).items;
    };
    const waiting = await list('quarantined');
    expect(waiting.map((receipt) => receipt.error)).toEqual(
      ['one', 'two', 'three'].map((id) => ({
        code: 'materialize_failed',
        message: `TypeError: no repository: ${id}`,
      })),
    );

    const still = await run(['receipts', 'rematerialize', 'pack.ts', '--json'], around);
    expect(still.code).toBe(1);
    expect(JSON.parse(still.stderr)).toMatchObject({
      error: { code: 'invalid_pack', message: 'materialize still fails for 3 of 3 receipts' },
    });
    expect(JSON.parse(still.stdout).items[0]).toMatchObject({ id: waiting[0]!.id, status: 'quarantined' });

    writeFileSync(pack, packText(FIXED));
    const again = (...flags: string[]) =>
      runHere(['receipts', 'rematerialize', pack, '--json', ...flags], around);
    const [first] = waiting;
    const one = await again('--receipt', first!.id);
    expect(JSON.parse(one.stdout)).toEqual({
      items: [
        {
          ...{ id: first!.id, namespace: 'acme', pack: 'steered', route: 'events', status: 'materialized' },
          ...{ events: 1, duplicate: false, conflict: false, error: null },
        },
      ],
      next: null,
    });
    expect(await again('--receipt', 'rcp_0')).toMatchObject({ code: 3 });
    expect(await again('--receipt', first!.id)).toMatchObject({ code: 2 });
    const rest = await again();
    expect(JSON.parse(rest.stdout).items).toHaveLength(2);
    expect(await list('quarantined')).toEqual([]);
    expect((await list('materialized')).map((receipt) => receipt.events)).toEqual([1, 1, 1]);

    const second = await serve([pack, '--namespace', 'acme'], around);
    const completed = async () => {
      const { stdout } = await runHere(['events', 'list', '--state', 'completed', '--json'], around);
      return (JSON.parse(stdout) as { items: { sourceKey: string }[] }).items.map((event) => event.sourceKey);
    };
    await expect.poll(completed, { timeout: 120_000 }).toEqual(['one', 'two', 'three']);
    expect(
      await send(`${second.listening.url}/in/acme/steered/events`, {
        id: 'one',
        type: 'push',
        source: 'one',
      }),
    ).toBe(200);
  });
});
