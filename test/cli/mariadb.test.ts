import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createDatabase } from '../support/mariadb.js';
import { run, SLOW, STEERED, send, serve, temporaryFolder } from './processes.js';

describe('lanehead on MariaDB', SLOW, () => {
  test('migrates, serves twice at once, drains, and is looked at, by a URL from a file', async () => {
    const database = await createDatabase();
    onTestFinished(() => database.drop());
    const folder = temporaryFolder();
    const file = join(folder, 'url');
    writeFileSync(file, `${database.url}\n`);
    const around = { folder, environment: { DATABASE_URL_FILE: file, STEER_FOLDER: folder } };
    const json = async (...args: string[]) => {
      const { code, stdout, stderr } = await run([...args, '--json'], around);
      expect([code, stderr]).toEqual([0, '']);
      return JSON.parse(stdout);
    };
    const early = await run(['stats', '--json'], around);
    expect([early.code, JSON.parse(early.stderr).error.code]).toEqual([1, 'schema_missing']);
    const { applied } = await json('migrate', 'up');
    expect((await json('migrate', 'status')).pending).toEqual([]);
    expect(applied.length).toBeGreaterThan(0);

    const [ingress, worker] = await Promise.all([
      serve([STEERED, '--namespace', 'acme', '--role', 'ingress'], around),
      serve([STEERED, '--namespace', 'acme', '--role', 'worker'], around),
    ]);
    const webhooks = `${ingress.listening.url}/in/acme/steered/events`;
    for (let place = 0; place < 12; place++) {
      const delivery = { id: `id-${place}`, type: 'push', source: `source-${place % 3}` };
      expect(await send(webhooks, delivery)).toBe(202);
    }
    await expect
      .poll(() => json('stats', '--exact'), { timeout: 200_000 })
      .toMatchObject({
        exact: true,
        packs: [{ namespace: 'acme', classes: { default: { completed: 12 } } }],
      });
    expect((await json('events', 'list', '--source', 'source-1')).items).toHaveLength(4);
    for (const process of [ingress, worker]) {
      process.child.kill('SIGTERM');
      expect((await process.ended).code).toBe(0);
    }
  });
});
