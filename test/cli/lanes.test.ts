import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { run, runHere, SLOW, send, serve, temporaryFolder } from './processes.js';

const HOLDING = `
import { definePack, signatures } from 'lanehead';
export default definePack({
  name: 'steered',
  version: '1.0.0',
  routes: {
    events: {
      version: 1,
      verify: signatures.github({ secret: 'known to the test' }),
      retry: { attempts: 1 },
      onDead: 'hold',
      materialize: (receipt) => ({ deliveries: [{ key: receipt.header('x-github-delivery'), events: [
        { type: receipt.header('x-github-event'), sourceKey: receipt.json().source },
      ] }] }),
      flow: (event, ctx) => { if (event.type === 'broken' && ctx.attempt === 1) throw new Error('broken'); },
    },
  },
});
`;

const BY = ['--by', 'ada', '--reason', 'known to the test'];

describe('lanehead lanes', SLOW, () => {
  test('[EXE-1] held work is retried, skipped or ended beside the serving process, and its lane goes on', async () => {
    const around = { folder: temporaryFolder() };
    const pack = join(around.folder, 'pack.ts');
    writeFileSync(pack, HOLDING);
    const serving = await serve([pack, '--namespace', 'acme'], around);
    const webhooks = `${serving.listening.url}/in/acme/steered/events`;
    const ids = async (state: string) => {
      const { stdout } = await runHere(['events', 'list', '--state', state, '--json'], around);
      const { items } = JSON.parse(stdout) as { items: { id: string; deliveryKey: string }[] };
      return new Map(items.map((event) => [event.deliveryKey, event.id]));
    };
    const decisions = ['retry', 'skip', 'end'];
    for (const source of decisions) {
      await send(webhooks, { id: `${source}-first`, type: 'broken', source });
      await send(webhooks, { id: `${source}-next`, type: 'push', source });
    }
    await expect.poll(() => ids('held'), { timeout: 120_000 }).toHaveProperty('size', 3);
    expect([...(await ids('pending')).keys()]).toEqual(['retry-next', 'skip-next', 'end-next']);

    const held = await ids('held');
    const decided: unknown[] = [];
    for (const decision of decisions) {
      const asked = ['lanes', decision, held.get(`${decision}-first`)!, ...BY, '--json'];
      decided.push(JSON.parse((await runHere(asked, around)).stdout));
    }
    expect(decided).toMatchObject(
      decisions.map(() => ({ matched: 1, changed: 1, skipped: 0, dryRun: false })),
    );
    const completed = ['retry-first', 'retry-next', 'skip-next', 'end-next'];
    await expect
      .poll(async () => [...(await ids('completed')).keys()], { timeout: 120_000 })
      .toEqual(completed);

    const again = await run(['lanes', 'skip', held.get('skip-first')!, ...BY, '--json'], around);
    expect([again.code, JSON.parse(again.stderr).error]).toMatchObject([
      2,
      { code: 'invalid_argument', message: expect.stringContaining('is not held, it is skipped') },
    ]);
    const unknown = await run(['lanes', 'retry', 'evt_0', ...BY, '--json'], around);
    expect([unknown.code, JSON.parse(unknown.stderr).error.code]).toEqual([3, 'not_found']);
  });
});
