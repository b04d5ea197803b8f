import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { AccessRefused } from '../../../src/store/failures.js';
import { type Plan, type Row, read, write } from '../../../src/store/plan.js';
import { createDatabase, startMariadb, type TestDatabase } from '../../support/mariadb.js';
import { ask, failureOf, hold, killConnection, openDriver, statement, untilGone } from './support.js';
import { startProxy, type Trick } from './tcp-proxy.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
  await ask(database.url, 'CREATE TABLE ledger (id INT PRIMARY KEY) ENGINE=InnoDB');
});
afterAll(() => database.drop());
beforeEach(() => ask(database.url, 'DELETE FROM ledger'));

const insert = statement('write', 'insert', 'INSERT INTO ledger (id) VALUES (?)');
const count = statement('read', 'count', 'SELECT COUNT(*) AS Rows_ FROM ledger');
const insertOne = function* (): Plan<void> {
  yield* write(insert, [1]);
};
const insertAndCount = function* (): Plan<void> {
  yield* write(insert, [1]);
  yield* read(count);
};
const stored = () => ask(database.url, 'SELECT id FROM ledger');
const none = { name: 'StoreOutage', outcome: 'none' };
const unknown = { name: 'StoreOutage', outcome: 'unknown' };

describe('[ADM-3] a connection that breaks', () => {
  test('KILLed in mid-transaction: outage, nothing stored, and the next transaction works', async () => {
    const holding = hold('count');
    const driver = await openDriver(database.url, { poolSize: 1, onStatement: holding.onStatement });
    const failing = driver.transaction(insertAndCount);
    await holding.reached.happened;
    await killConnection(database.url, holding.connectionId());
    holding.gate.send();
    expect(await failureOf(failing)).toMatchObject(none);
    expect(await stored()).toEqual([]);
    await driver.transaction(insertOne);
    expect(await stored()).toEqual([{ id: 1 }]);
  });

  test('lost before COMMIT was sent: nothing is stored, and that is known', async () => {
    const proxy = await startProxy(database.url);
    const holding = hold('commit');
    const driver = await openDriver(proxy.url, { poolSize: 1, onStatement: holding.onStatement });
    const failing = driver.transaction(insertOne);
    await holding.reached.happened;
    await proxy.endAll();
    holding.gate.send();
    expect(await failureOf(failing)).toMatchObject(none);
    expect(await stored()).toEqual([]);
  });

  test.each<[Trick, readonly unknown[]]>([
    ['cut', []],
    ['cut-after-reply', [{ id: 1 }]],
  ])('%s at COMMIT: the outcome is unknown, whichever it was', async (trick, expected) => {
    const proxy = await startProxy(database.url);
    const driver = await openDriver(proxy.url, { poolSize: 1 });
    proxy.on('COMMIT', trick);
    expect(await failureOf(driver.transaction(insertOne))).toMatchObject(unknown);
    expect(await stored()).toEqual(expected);
    expect(await driver.query(() => read<Row>(count))).toEqual([{ Rows_: expected.length }]);
  });

  test('outside a transaction a write that breaks is unknown, a read is not', async () => {
    const proxy = await startProxy(database.url);
    const driver = await openDriver(proxy.url, { poolSize: 1 });
    proxy.on('INSERT', 'cut-after-reply');
    expect(await failureOf(driver.query(insertOne))).toMatchObject(unknown);
    proxy.on('SELECT', 'cut'); // the first time on a connection its text is sent, to be prepared
    expect(await failureOf(driver.query(() => read(count)))).toMatchObject(none);
  });

  test('an idle connection that the server ended is replaced without anybody noticing', async () => {
    let id = 0;
    const driver = await openDriver(database.url, {
      poolSize: 1,
      onStatement: (step) => {
        id = step.connectionId;
      },
    });
    await driver.query(() => read(count));
    await killConnection(database.url, id);
    await driver.transaction(insertOne);
    await killConnection(database.url, id);
    await driver.query(() => read(count));
    expect(await stored()).toEqual([{ id: 1 }]);
  });

  test('an idle connection that turns out dead at BEGIN is replaced; a fresh one that fails there is an outage', async () => {
    const proxy = await startProxy(database.url);
    const driver = await openDriver(proxy.url, { poolSize: 3 });
    await Promise.all([1, 2, 3].map(() => driver.query(() => read(count))));
    proxy.on('START TRANSACTION', 'cut', 3);
    await driver.transaction(insertOne);
    expect(await stored()).toEqual([{ id: 1 }]);
    proxy.on('START TRANSACTION', 'cut', 2);
    expect(await failureOf(driver.transaction(insertOne))).toMatchObject(none);
  });

  test('a session that does nothing for too long is ended by the server, and lets go of its locks', async () => {
    const holding = hold('count');
    const lazy = await openDriver(database.url, { idleTimeoutMs: 1_500, onStatement: holding.onStatement });
    const failing = lazy.transaction(insertAndCount);
    await holding.reached.happened;
    await untilGone(database.url, holding.connectionId());
    const other = await openDriver(database.url, { lockWaitMs: 1_000 });
    await other.transaction(insertOne);
    holding.gate.send();
    expect(await failureOf(failing)).toMatchObject(none);
    expect(await stored()).toEqual([{ id: 1 }]);
  });
});

describe('[ADM-3] FIELD §6: half-open TCP', () => {
  const quick = { statementTimeoutMs: 3_500, lockWaitMs: 3_000, connectTimeoutMs: 3_000 };

  test.each([
    ['START TRANSACTION', none],
    ['INSERT', none],
    ['COMMIT', unknown],
  ])('a connection that goes silent at %s fails within the statement time-out', async (text, expected) => {
    const proxy = await startProxy(database.url);
    const driver = await openDriver(proxy.url, { ...quick, poolSize: 1 });
    proxy.on(text, 'freeze');
    const error = await failureOf(driver.transaction(insertOne));
    expect(error).toMatchObject({ ...expected, message: expect.stringContaining('no answer') });
    await driver.transaction(function* (): Plan<void> {
      yield* write(insert, [2]);
    });
    expect(await stored()).toEqual([{ id: 2 }]);
  });

  test('when one connection goes silent the idle ones are not trusted either', async () => {
    const proxy = await startProxy(database.url);
    const driver = await openDriver(proxy.url, { ...quick, poolSize: 4 });
    await Promise.all([1, 2, 3, 4].map(() => driver.query(() => read(count))));
    const before = proxy.connections;
    proxy.on('INSERT', 'freeze');
    await failureOf(driver.transaction(insertOne));
    await driver.query(() => read(count));
    expect(proxy.connections).toBe(before + 1);
  });

  test('a server that accepts and never speaks is given up', async () => {
    const proxy = await startProxy(database.url);
    proxy.on('', 'freeze', 100);
    expect(await failureOf(openDriver(proxy.url, quick))).toMatchObject(none);
  });
});

test('[ADM-3] nobody listens: outage at once, at start and later', async () => {
  expect(await failureOf(openDriver('mysql://root@127.0.0.1:1/nothing'))).toMatchObject(none);
  expect(await failureOf(openDriver('mysql://root@localhost/x?socketPath=/no/such.sock'))).toMatchObject(
    none,
  );
});

test('a refused login and a missing database are told from a server that is away', async () => {
  const url = new URL(database.url);
  url.username = 'nobody';
  url.password = 'wrong';
  for (const [refused, errno] of [
    [url.href, 1045],
    [new URL('no_such_database', database.url).href, 1049],
  ] as const) {
    const failure = await failureOf(openDriver(refused));
    expect(failure).toBeInstanceOf(AccessRefused);
    expect(failure).toMatchObject({ cause: { errno } });
  }
});

test('[ADM-3] a server that crashes in mid-transaction and comes back: outage, then everything works', async () => {
  const first = await startMariadb();
  const restarted = async () => startMariadb({ dataFolder: first.dataFolder, port: first.port });
  try {
    await ask(first.url, 'CREATE DATABASE lanehead');
    const url = new URL('lanehead', first.url).href;
    await ask(url, 'CREATE TABLE ledger (id INT PRIMARY KEY) ENGINE=InnoDB');
    const holding = hold('count');
    const driver = await openDriver(url, { poolSize: 2, onStatement: holding.onStatement });
    await driver.transaction(insertOne);
    const failing = driver.transaction(function* (): Plan<void> {
      yield* write(insert, [2]);
      yield* read(count);
    });
    await holding.reached.happened;
    await first.kill();
    holding.gate.send();
    expect(await failureOf(failing)).toMatchObject(none);
    expect(await failureOf(driver.transaction(insertOne))).toMatchObject(none);
    const second = await restarted();
    try {
      expect(await driver.query(() => read<Row>(count))).toEqual([{ Rows_: 1 }]);
    } finally {
      await second.stop();
    }
  } finally {
    await first.stop();
  }
}, 120_000);
