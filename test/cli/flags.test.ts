import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Stats } from '../../src/store/store.js';
import { type Running, runHere, SLOW, STEERED, send, serve, temporaryFolder } from './processes.js';

interface Serving {
  readonly folder: string;
  readonly serving: Running;
  readonly webhooks: string;
}

async function serveWith(environment: Readonly<Record<string, string>>): Promise<Serving> {
  const folder = temporaryFolder();
  const around = { folder, environment: { STEER_FOLDER: folder, ...environment } };
  const serving = await serve([STEERED, '--namespace', 'acme'], around);
  return { folder, serving, webhooks: `${serving.listening.url}/in/acme/steered/events` };
}

async function countsOf(folder: string) {
  const { stdout } = await runHere(['stats', '--exact', '--json'], { folder });
  return (JSON.parse(stdout) as Stats).packs[0]!.classes.default;
}

const untilCounts = (folder: string, counts: object): Promise<unknown> =>
  expect.poll(() => countsOf(folder), { timeout: 200_000 }).toMatchObject(counts);

/** The most flows that ran at once, by what they wrote down. */
function mostAtOnce(folder: string): number {
  let running = 0;
  let most = 0;
  for (const line of readFileSync(join(folder, 'ledger'), 'utf8').trim().split('\n')) {
    running += line.startsWith('start') ? 1 : -1;
    most = Math.max(most, running);
  }
  return most;
}

async function sendEach(webhooks: string, type: string, count: number): Promise<void> {
  const sends = Array.from({ length: count }, (_, place) =>
    send(webhooks, { id: `id-${place}`, type, source: `source-${place}` }),
  );
  expect(await Promise.all(sends)).toEqual(Array(count).fill(202));
}

describe('rollout flags in a serving process', SLOW, () => {
  test('[FLG-1] more workers than 4 run, and are logged as unsafe', async () => {
    const { folder, serving, webhooks } = await serveWith({
      NEXUSCRM_CONNECTOR_INBOUND_WORKERS_PER_PACK: '6',
      // Keeps no slot for bulk alone.
      LANEHEAD_QUEUE_PROFILE: 'default-heavy',
    });
    const warning = await serving.until(({ stderr }) =>
      stderr
        .split('\n')
        .slice(0, -1)
        .find((line) => line.includes('unsafe')),
    );
    const msg = expect.stringContaining('unsafe');
    expect(JSON.parse(warning)).toMatchObject({ level: 40, workersPerPack: 6, msg });
    await sendEach(webhooks, 'wait', 8);
    await untilCounts(folder, { processing: 6, ready: 2 });
    writeFileSync(join(folder, 'release'), '');
    await untilCounts(folder, { completed: 8 });
    expect(mostAtOnce(folder)).toBe(6);
  });

  test('[FLG-3] [RSV-3] the default profile keeps a slot for bulk, whatever else waits', async () => {
    const { folder, webhooks } = await serveWith({ NEXUSCRM_CONNECTOR_INBOUND_WORKERS_PER_PACK: '4' });
    await sendEach(webhooks, 'wait', 5);
    await untilCounts(folder, { processing: 3, ready: 2 });
    writeFileSync(join(folder, 'release'), '');
    await untilCounts(folder, { completed: 5 });
    expect(mostAtOnce(folder)).toBe(3);
  });

  test('[FLG-1] 4 workers are not', async () => {
    const { serving } = await serveWith({ LANEHEAD_WORKERS_PER_PACK: '4' });
    serving.child.kill('SIGTERM');
    const { stderr } = await serving.ended;
    expect(stderr).toContain('"workersPerPack":4');
    expect(stderr).not.toContain('unsafe');
  });

  test('[FLG-2] the budget bounds what is in processing, below the number of workers', async () => {
    const { folder, webhooks } = await serveWith({ NEXUSCRM_CONNECTOR_INBOUND_MAX_PROCESSING_ROWS: '2' });
    await sendEach(webhooks, 'wait', 5);
    await untilCounts(folder, { processing: 2, ready: 3 });
    writeFileSync(join(folder, 'release'), '');
    await untilCounts(folder, { completed: 5 });
    expect(mostAtOnce(folder)).toBe(2);
  });

  test('[FLG-5] a flow that is not done by the deadline is ended', async () => {
    const { folder, webhooks } = await serveWith({ NEXUSCRM_CONNECTOR_FLOW_DEADLINE_MS: '300' });
    await sendEach(webhooks, 'wait', 1);
    await untilCounts(folder, { dead: 1 });
    const list = await runHere(['events', 'list', '--json'], { folder });
    const { items } = JSON.parse(list.stdout) as { items: { id: string }[] };
    const { stdout } = await runHere(['events', 'show', items[0]!.id, '--json'], { folder });
    expect(JSON.parse(stdout)).toMatchObject({
      workItems: [{ state: 'dead', attempt: 1, lastError: { code: 'flow_deadline' } }],
    });
    expect(existsSync(join(folder, 'release'))).toBe(false);
  });
});
