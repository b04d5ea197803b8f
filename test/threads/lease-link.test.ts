import { createConnection } from 'mysql2/promise';
import { expect, test } from 'vitest';
import { openLeaseThread } from '../../dist/threads/lease-link.js';
import { systemClock } from '../../src/core/system.js';
import { createDatabase } from '../support/mariadb.js';

const noFailure = (error: Error) => expect(error).toBeUndefined();

test('[TRM-4] a lease thread is connected when it is handed out, and ends with its link', async () => {
  const database = await createDatabase();
  const beside = await createConnection(database.url);
  const others = async () => {
    const text = 'SELECT COUNT(*) AS n FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND ID <> ';
    const [rows] = await beside.query(`${text} CONNECTION_ID()`);
    return (rows as { n: number }[])[0]!.n;
  };
  expect(await others()).toBe(0);
  const data = { url: database.url, unsafeDurability: false };
  const { link, ended } = await openLeaseThread(data, systemClock, noFailure);
  expect(await others()).toBe(1);
  const closed = new Promise<void>((resolve) => {
    link.receive((message: { kind: string }) => {
      if (message.kind === 'closed') resolve();
    });
  });
  link.send({ kind: 'close' });
  await closed;
  await ended();
  expect(await others()).toBe(0);
  await beside.end();
  await database.drop();
}, 120_000);

test('a lease thread that cannot connect is refused, with the reason', async () => {
  const data = { url: 'mysql://root@127.0.0.1:1/none', unsafeDurability: false };
  await expect(openLeaseThread(data, systemClock, noFailure)).rejects.toThrow(/ECONNREFUSED|reach/);
});
