import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runCommand } from '../../src/cli/program.js';
import { run, runHere, SLOW, STEERED, send, serve, temporaryFolder } from './processes.js';

const CLASS_FIELDS = [
  ...['ready', 'delayed', 'blocked', 'queued', 'processing', 'stale', 'held'],
  ...['completed', 'skipped', 'dead', 'coalesced', 'oldestReadyMs'],
];
const EVENT_FIELDS = [
  ...['id', 'receipt', 'type', 'sourceKey', 'deliveryKey', 'ordinal', 'route', 'routeVersion', 'queueClass'],
  ...['origin', 'parentId', 'receivedAt', 'payloadSha256'],
];
const ITEM_FIELDS = [
  ...['workId', 'workType', 'state', 'attempt', 'failures', 'runAfter', 'leaseUntil', 'epoch', 'laneKey'],
  ...['laneOrdinal', 'supersededBy', 'lastError'],
];

/** A serving process with three Events: one runs, one waits behind it, one stands alone and is done. */
async function served() {
  const folder = temporaryFolder();
  const around = { folder, environment: { STEER_FOLDER: folder } };
  const serving = await serve([STEERED, '--namespace', 'acme'], around);
  const webhooks = `${serving.listening.url}/in/acme/steered/events`;
  await send(webhooks, { id: 'runs', type: 'wait', source: 'a' });
  await send(webhooks, { id: 'behind', type: 'push', source: 'a' });
  await send(webhooks, { id: 'done', type: 'push', source: 'evil\r\n\u001b[31m' });
  const counts = () =>
    runHere(['stats', '--exact', '--json'], around).then(({ stdout }) => JSON.parse(stdout));
  await expect.poll(counts, { timeout: 120_000 }).toMatchObject({
    packs: [{ classes: { default: { processing: 1, blocked: 1, completed: 1 } } }],
  });
  return { around, webhooks, serving };
}

describe('commands beside a serving process', SLOW, () => {
  test('stats counts in the documented shape, cheaply and exactly', async () => {
    const { around } = await served();
    for (const flags of [[], ['--exact']]) {
      const { code, stdout, stderr } = await run(['stats', ...flags, '--json'], around);
      expect([code, stderr]).toEqual([0, '']);
      const stats = JSON.parse(stdout);
      expect(stats).toMatchObject({
        at: expect.any(Number),
        exact: flags.length > 0,
        packs: [{ namespace: 'acme', pack: 'steered', generation: 1 }],
      });
      expect(Object.keys(stats.packs[0].classes.default).sort()).toEqual([...CLASS_FIELDS].sort());
    }
  });

  test('events are listed by page and filter, shown in the documented shape, and harmless on a terminal', async () => {
    const { around } = await served();
    const list = async (...flags: string[]) => {
      const { stdout } = await runHere(['events', 'list', '--json', ...flags], around);
      return JSON.parse(stdout) as { items: { id: string; deliveryKey: string }[]; next: string | null };
    };
    const keys = async (...flags: string[]) => (await list(...flags)).items.map((item) => item.deliveryKey);
    expect(await keys()).toEqual(['runs', 'behind', 'done']);
    const first = await list('--limit', '2');
    expect(first.items).toHaveLength(2);
    expect(await keys('--limit', '2', '--cursor', first.next!)).toEqual(['done']);
    expect(await keys('--source', 'a')).toEqual(['runs', 'behind']);
    expect(await keys('--state', 'completed')).toEqual(['done']);
    expect(await keys('--namespace', 'globex')).toEqual([]);
    expect(await keys('--pack', 'steered', '--state', 'processing')).toEqual(['runs']);

    const id = first.items[0]!.id;
    const detail = JSON.parse((await run(['events', 'show', id, '--json'], around)).stdout);
    expect(Object.keys(detail.event)).toEqual(expect.arrayContaining(EVENT_FIELDS));
    expect(Object.keys(detail.workItems[0])).toEqual(expect.arrayContaining(ITEM_FIELDS));
    expect(detail).toMatchObject({
      event: { id, ordinal: 0 },
      workItems: [{ state: 'processing', epoch: 1 }],
    });

    const { stdout } = await runHere(['events', 'list'], around);
    expect(stdout).toContain('evil\\u000d\\u000a\\u001b[31m');
    expect(stdout.replaceAll('\n', '')).toMatch(/^[^\p{Cc}]*$/u);
    expect((await runHere(['events', 'show', id], around)).stdout).toContain('processing');
  });

  test('packs are listed, paused and resumed, and the serving process obeys', async () => {
    const { around, webhooks } = await served();
    const paused = await run(['packs', 'pause', 'steered', '--namespace', 'acme', '--json'], around);
    expect(JSON.parse(paused.stdout)).toMatchObject({
      items: [{ namespace: 'acme', pack: 'steered', version: '1.0.0', generation: 1, status: 'paused' }],
      next: null,
    });
    const answer = () => send(webhooks, { id: 'later', type: 'push', source: 'b' });
    await expect.poll(answer, { timeout: 120_000 }).toBe(503);
    expect((await runHere(['packs', 'resume', 'steered'], around)).code).toBe(0);
    await expect.poll(answer, { timeout: 120_000 }).toBe(202);
    const list = await runHere(['packs', 'list', '--json'], around);
    expect(JSON.parse(list.stdout)).toMatchObject({ items: [{ status: 'active' }], next: null });
  });
});

describe('commands on a database that nobody serves', SLOW, () => {
  test('what is not there is 3, with the error as JSON or readable', async () => {
    const folder = temporaryFolder();
    expect(await run(['migrate', 'up'], { folder })).toMatchObject({ code: 0, stderr: '' });
    const absent = await run(['events', 'show', 'evt_0', '--json'], { folder });
    expect([absent.code, absent.stdout]).toEqual([3, '']);
    expect(JSON.parse(absent.stderr)).toEqual({
      error: { code: 'not_found', message: 'no Event has the id evt_0', action: 'Check the id.' },
    });
    const readable = await runHere(['packs', 'pause', 'github'], { folder });
    expect(readable).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/^lanehead: not_found: no pack github.*\nSee lanehead packs list/),
    });
  });

  test('a database that is missing or not migrated says so, and looking creates nothing', async () => {
    const folder = temporaryFolder();
    const looks = [
      ['stats'],
      ['events', 'list'],
      ['events', 'show', 'x'],
      ['receipts', 'list'],
      ['packs', 'list'],
    ];
    const expectMissing = async (message: unknown) => {
      for (const look of looks) {
        const { code, stderr } = await runHere([...look, '--json'], { folder });
        expect(code).toBe(1);
        expect(JSON.parse(stderr)).toMatchObject({ error: { code: 'schema_missing', message } });
      }
    };
    await expectMissing(expect.stringContaining('there is no database at sqlite:'));
    const status = JSON.parse((await runHere(['migrate', 'status', '--json'], { folder })).stdout);
    expect(status).toMatchObject({ applied: [], unknown: [] });
    expect(status.pending.length).toBeGreaterThan(0);
    const file = join(folder, 'lanehead.db');
    expect(existsSync(file)).toBe(false);
    writeFileSync(file, '');
    await expectMissing(expect.stringContaining('not applied: '));

    const up = await runHere(['migrate', 'up', '--json'], { folder });
    expect(JSON.parse(up.stdout)).toEqual({ applied: status.pending });
    expect(JSON.parse((await runHere(['migrate', 'up', '--json'], { folder })).stdout)).toEqual({
      applied: [],
    });
    const after = JSON.parse((await runHere(['migrate', 'status', '--json'], { folder })).stdout);
    expect(after.applied.map(({ id }: { id: string }) => id)).toEqual(status.pending);
  });
});

describe('usage', SLOW, () => {
  const usage = async (...args: string[]) => {
    const lines: string[] = [];
    const printed: string[] = [];
    const code = await runCommand(args, {
      environment: {},
      print: (line) => printed.push(line),
      complain: (line) => lines.push(line),
    });
    return { code, printed: printed.join('\n'), complained: lines.join('\n') };
  };

  test.each([
    ['no command', []],
    ['an unknown command', ['serv']],
    ['half a command', ['events']],
    ['an unknown option', ['stats', '--exac']],
    ['a missing argument', ['events', 'show']],
    ['too many arguments', ['stats', 'more']],
    ['a state that is none', ['events', 'list', '--state', 'done']],
    ['a page of nothing', ['events', 'list', '--limit', '0']],
    ['a database of another kind', ['stats', '--db', 'postgres://hunter2@host/db']],
  ])('%s is 2', async (_what, args) => {
    const readable = await usage(...args);
    expect(readable.code).toBe(2);
    expect(readable.printed).toBe('');
    expect(readable.complained).not.toContain('hunter2');
    const asJson = await usage(...args, '--json');
    expect(asJson.code).toBe(2);
    expect(JSON.parse(asJson.complained)).toMatchObject({ error: { code: expect.any(String) } });
  });

  test('of the process itself: 2 on stderr alone, help and version 0', async () => {
    const folder = temporaryFolder();
    expect(await run(['stats', '--exac'], { folder })).toMatchObject({ code: 2, stdout: '' });
    expect(await run(['--version'], { folder })).toMatchObject({ code: 0, stdout: '0.1.0\n', stderr: '' });
    expect(await usage('serve', '--help')).toMatchObject({
      code: 0,
      printed: expect.stringContaining('--admin-port'),
    });
  });
});
