import { existsSync } from 'node:fs';
import { type Connection, createConnection } from 'mysql2/promise';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDatabase, type MariadbServer, mysqlUrl, startMariadb } from '../support/mariadb.js';

async function on<T>(url: string, work: (connection: Connection) => Promise<T>): Promise<T> {
  const connection = await createConnection(url);
  try {
    return await work(connection);
  } finally {
    await connection.end();
  }
}

describe('the server of this run', { timeout: 120_000 }, () => {
  test('is one for all who ask', async () => {
    expect(await mysqlUrl()).toBe(await mysqlUrl());
  });

  test('keeps what it acknowledged', async () => {
    const [rows] = await on(await mysqlUrl(), (c) =>
      c.query('SELECT @@innodb_flush_log_at_trx_commit AS flush'),
    );
    expect(rows).toEqual([{ flush: 1 }]);
  });

  test('gives each caller a database of its own, and drops it', async () => {
    const [one, two] = [await createDatabase(), await createDatabase()];
    await on(one.url, (c) => c.query('CREATE TABLE t (a INT)'));
    const tables = await on(two.url, (c) => c.query('SHOW TABLES'));
    expect(tables[0]).toEqual([]);
    await Promise.all([one.drop(), two.drop()]);
    await expect(on(one.url, (c) => c.query('SELECT 1'))).rejects.toMatchObject({ code: 'ER_BAD_DB_ERROR' });
  });
});

describe('a server of its own', { timeout: 120_000 }, () => {
  let server: MariadbServer;
  beforeAll(async () => {
    server = await startMariadb();
  });
  afterAll(() => server.stop());

  test('finds its committed rows again after SIGKILL, on the same port', async () => {
    const database = await createDatabase(server.url);
    await on(database.url, async (c) => {
      await c.query('CREATE TABLE t (a INT)');
      await c.query('INSERT INTO t VALUES (7)');
    });
    await server.kill();
    const refusal = () =>
      on(database.url, (c) => c.query('SELECT 1')).then(
        () => 'none',
        (error: Error) => error.message,
      );
    await expect.poll(refusal, { timeout: 20_000 }).toContain('ECONNREFUSED');
    const again = await startMariadb({ dataFolder: server.dataFolder, port: server.port });
    try {
      const [rows] = await on(database.url, (c) => c.query('SELECT a FROM t'));
      expect(rows).toEqual([{ a: 7 }]);
    } finally {
      await again.stop();
    }
    expect(existsSync(server.dataFolder)).toBe(true);
  });

  test('leaves no process and no folder behind', async () => {
    const other = await startMariadb({ arguments: ['--innodb-buffer-pool-size=8M'] });
    await other.stop();
    await other.stop();
    expect(existsSync(other.dataFolder)).toBe(false);
    expect(() => process.kill(other.pid, 0)).toThrow('ESRCH');
  });
});
