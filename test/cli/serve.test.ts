import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { run, SLOW, STEERED, send, serve, start, temporaryFolder } from './processes.js';

const NEVER_LOADS = join(import.meta.dirname, 'packs/never-loads.ts');
const ACME = ['--namespace', 'acme'];

function surroundings(environment: Readonly<Record<string, string>> = {}) {
  const folder = temporaryFolder();
  return { folder, environment: { STEER_FOLDER: folder, ...environment } };
}

const ledgerOf = (folder: string): string[] => {
  const file = join(folder, 'ledger');
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
};

/** What flows write down appears without a signal; it is looked at until it is there. */
async function untilLedger(folder: string, line: string): Promise<void> {
  await expect.poll(() => ledgerOf(folder), { timeout: 120_000 }).toContain(line);
}

describe('lanehead serve', SLOW, () => {
  test('listens on free ports, says so in one JSON line, serves, and drains on SIGTERM', async () => {
    const around = surroundings();
    const serving = await serve([STEERED, ...ACME], around);
    const { event, url, adminUrl, pid } = serving.listening;
    expect({ event, pid }).toEqual({ event: 'listening', pid: serving.child.pid });
    expect(new URL(url).port).not.toBe(new URL(adminUrl).port);
    const webhooks = `${url}/in/acme/steered/events`;
    expect(await send(webhooks, { id: 'one', type: 'wait', source: 'a' })).toBe(202);
    expect(await send(webhooks, { id: 'one', type: 'wait', source: 'a' })).toBe(200);
    await untilLedger(around.folder, 'start one');
    serving.child.kill('SIGTERM');
    await serving.until(({ stderr }) => stderr.includes('"msg":"stopping"'));
    const ready = await fetch(`${adminUrl}/readyz`);
    expect([ready.status, await ready.json()]).toMatchObject([503, { ready: false }]);
    writeFileSync(join(around.folder, 'release'), '');
    const ended = await serving.ended;
    expect([ended.code, ended.signal]).toEqual([0, null]);
    expect(ended.stdout.trim().split('\n')).toHaveLength(1);
    expect(ledgerOf(around.folder)).toEqual(['start one', 'end one']);
    const { stdout } = await run(['events', 'list', '--state', 'completed', '--json'], around);
    expect(JSON.parse(stdout)).toMatchObject({ items: [{ deliveryKey: 'one' }], next: null });
  });

  test('writes logs as JSON to stderr, without a body', async () => {
    const around = surroundings();
    const serving = await serve([STEERED, ...ACME], around);
    await send(`${serving.listening.url}/in/acme/steered/events`, { id: 'x', type: 'push', source: 'hush' });
    await untilLedger(around.folder, 'end x');
    serving.child.kill('SIGINT');
    const { code, stderr } = await serving.ended;
    expect(code).toBe(0);
    const messages = stderr
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { msg: string }).msg);
    expect(messages).toEqual(expect.arrayContaining(['workers started', 'stopping', 'stopped']));
    expect(stderr).not.toContain('hush');
  });

  test('exits at once at a second signal, with 128 and its number', async () => {
    const around = surroundings({ LANEHEAD_STOP_TIMEOUT_MS: '600000' });
    const serving = await serve([STEERED, ...ACME], around);
    await send(`${serving.listening.url}/in/acme/steered/events`, { id: 'x', type: 'deaf', source: 'a' });
    await untilLedger(around.folder, 'start x');
    serving.child.kill('SIGTERM');
    await serving.until(({ stderr }) => stderr.includes('"msg":"stopping"'));
    serving.child.kill('SIGINT');
    expect((await serving.ended).code).toBe(130);
  });

  test('logs a rejection that nobody handled, and serves on', async () => {
    const around = surroundings();
    const serving = await serve([STEERED, ...ACME], around);
    const webhooks = `${serving.listening.url}/in/acme/steered/events`;
    await send(webhooks, { id: 'one', type: 'stray', source: 'a' });
    const line = await serving.until(({ stderr }) =>
      stderr.split('\n').find((written) => written.endsWith('"msg":"a rejection that nobody handled"}')),
    );
    expect(JSON.parse(line)).toMatchObject({
      level: 50,
      err: { message: 'left behind', stack: expect.stringContaining('steered.ts') },
    });
    expect(await send(webhooks, { id: 'two', type: 'push', source: 'a' })).toBe(202);
    await untilLedger(around.folder, 'end two');
    serving.child.kill('SIGTERM');
    expect((await serving.ended).code).toBe(0);
  });

  test('drains after an exception that nobody caught, and ends with 1', async () => {
    const around = surroundings();
    const serving = await serve([STEERED, ...ACME], around);
    const webhooks = `${serving.listening.url}/in/acme/steered/events`;
    await send(webhooks, { id: 'one', type: 'wait', source: 'a' });
    await untilLedger(around.folder, 'start one');
    await send(webhooks, { id: 'two', type: 'throw', source: 'b' });
    await serving.until(({ stderr }) => stderr.includes('"msg":"stopping"'));
    writeFileSync(join(around.folder, 'release'), '');
    const { code, stderr } = await serving.ended;
    expect(code).toBe(1);
    expect(stderr).toContain('"msg":"an exception that nobody caught"');
    expect(ledgerOf(around.folder)).toContain('end one');
  });

  test('ends with 0 at SIGTERM while a pack is being loaded; what a pack prints stays out of stdout', async () => {
    const starting = start(['serve', NEVER_LOADS, ...ACME, '--json'], surroundings());
    await starting.until(({ stderr }) => stderr.includes('loading'));
    starting.child.kill('SIGTERM');
    expect(await starting.ended).toMatchObject({ code: 0, stdout: '' });
  });

  test('ends with 0 at SIGTERM while it waits for its database', async () => {
    const sockets: Socket[] = [];
    const silent = createServer((socket) => void sockets.push(socket)).listen(0, '127.0.0.1');
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
      silent.close();
    });
    await new Promise((resolve) => silent.once('listening', resolve));
    const { port } = silent.address() as { port: number };
    const reached = new Promise((resolve) => silent.once('connection', resolve));
    const url = `mysql://root:hunter2@127.0.0.1:${port}/db`;
    const starting = start(['serve', STEERED, ...ACME, '--db', url, '--json'], surroundings());
    await reached;
    starting.child.kill('SIGTERM');
    const ended = await starting.ended;
    expect(ended).toMatchObject({ code: 0, stdout: '' });
    expect(ended.stderr).toContain('the start that was interrupted failed');
    expect(ended.stderr).not.toContain('hunter2');
  });

  test('refuses a file that another process serves', async () => {
    const around = surroundings();
    await serve([STEERED, ...ACME], around);
    const second = await run(
      ['serve', STEERED, ...ACME, '--port', '0', '--admin-port', '0', '--json'],
      around,
    );
    expect([second.code, second.stdout]).toEqual([1, '']);
    expect(JSON.parse(second.stderr)).toMatchObject({
      error: { code: 'database_in_use', action: expect.stringContaining('mysql://') },
    });
  });

  test('refuses a port that is taken, and names it', async () => {
    const around = surroundings();
    const { listening } = await serve([STEERED, ...ACME], around);
    const { port } = new URL(listening.url);
    const taken = ['--db', 'sqlite:./other.db', '--port', port, '--admin-port', '0', '--json'];
    const second = await run(['serve', STEERED, ...ACME, ...taken], around);
    expect(second.code).toBe(1);
    expect(JSON.parse(second.stderr)).toMatchObject({
      error: {
        code: 'invalid_configuration',
        message: `cannot listen on 127.0.0.1:${port} (EADDRINUSE)`,
      },
    });
  });

  test('reports all wrong settings in one error, before anything is opened', async () => {
    const around = surroundings({
      LANEHEAD_PORT: 'hunter2',
      LANEHEAD_LEASE_MS: '1',
      LANEHEAD_STAGE_TIMING: 'hunter2',
      LANEHEAD_WORKER_PER_PACK: '2',
      DATABASE_URL: 'mysql://root:hunter2@host:port/db',
    });
    const ended = await run(['serve', STEERED, '--json'], around);
    expect([ended.code, ended.stdout]).toEqual([2, '']);
    const { error } = JSON.parse(ended.stderr) as { error: { code: string; message: string } };
    expect(error.code).toBe('invalid_configuration');
    expect(error.message.split('\n').map((line) => line.split(':')[0])).toEqual([
      'DATABASE_URL',
      '--namespace',
      'LANEHEAD_PORT',
      'LANEHEAD_LEASE_MS',
      'LANEHEAD_STAGE_TIMING',
      'LANEHEAD_WORKER_PER_PACK',
    ]);
    expect(ended.stderr).not.toContain('hunter2');
    expect(existsSync(join(around.folder, 'lanehead.db'))).toBe(false);
  });

  test('exits with 1 when only the environment is wrong', async () => {
    const ended = await run(['serve', STEERED, ...ACME], surroundings({ LANEHEAD_LEASE_MS: '1' }));
    expect(ended).toMatchObject({ code: 1, stdout: '' });
    expect(ended.stderr).toMatch(/^lanehead: invalid_configuration: LANEHEAD_LEASE_MS: must be /);
  });

  test('names every pack file that does not load, and where', async () => {
    const around = surroundings();
    const write = (name: string, text: string) => writeFileSync(join(around.folder, name), text);
    write('syntax.ts', 'export default {\n  name: ;\n};\n');
    write(
      'throws.mjs',
      "import { definePack } from 'lanehead';\nexport default definePack({ name: 'UPPER' });\n",
    );
    write('plain.ts', "export default { name: 'plain', version: '1.0.0', routes: {} };\n");
    const files = ['syntax.ts', 'throws.mjs', 'plain.ts', 'absent.ts'];
    const ended = await run(['serve', ...files, ...ACME, '--json'], around);
    expect([ended.code, ended.stdout]).toEqual([1, '']);
    const { error } = JSON.parse(ended.stderr) as { error: { code: string; message: string } };
    expect(error.code).toBe('invalid_pack');
    const lines = error.message.split('\n');
    expect(lines.map((line) => line.split(':')[0])).toEqual(files);
    expect(lines[0]).toContain('syntax.ts:2:');
    expect(lines[1]).toMatch(/name: .*throws\.mjs:2:/);
    expect(lines[2]).toContain('not what definePack returns');
  });

  test('refuses to start without a secret, and says for whom', async () => {
    const around = surroundings();
    const github = join(import.meta.dirname, '../../examples/github.ts');
    const ended = await run(['serve', github, ...ACME, '--port', '0', '--admin-port', '0'], around);
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain('namespace acme, pack github, route events: the secret is undefined');
  });
});
