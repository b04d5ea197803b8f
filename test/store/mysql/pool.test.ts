import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/core/system.js';
import type { MysqlDriver } from '../../../src/store/dialects/mysql/driver.js';
import { lockName } from '../../../src/store/dialects/mysql/lock.js';
import { read } from '../../../src/store/plan.js';
import { createDatabase, type TestDatabase } from '../../support/mariadb.js';
import { ask, failureOf, hold, killConnection, openDriver, signal, statement, until } from './support.js';
import { startProxy } from './tcp-proxy.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

const one = statement('read', 'one', 'SELECT 1 AS One');
const id = statement('read', 'id', 'SELECT CONNECTION_ID() AS Id');
const ping = (driver: MysqlDriver) => driver.transaction(() => read(one));
const connectionOf = async (driver: MysqlDriver) =>
  (await driver.transaction(() => read<{ Id: number }>(id)))[0]!.Id;

/** A driver whose first transaction is held at COMMIT, and that transaction. */
async function busyDriver(options: Parameters<typeof openDriver>[1] = {}) {
  const holding = hold('commit');
  const driver = await openDriver(database.url, {
    poolSize: 1,
    onStatement: holding.onStatement,
    ...options,
  });
  const running = ping(driver);
  running.catch(() => {});
  await holding.reached.happened;
  return { driver, running, holding };
}

describe('[ADM-3] the pool is bounded', () => {
  test('whoever finds no connection waits in line, and is served in the order of coming', async () => {
    const { driver, running, holding } = await busyDriver();
    const order: number[] = [];
    const waiting = [1, 2, 3].map((place) => ping(driver).then(() => order.push(place)));
    holding.gate.send();
    await Promise.all([running, ...waiting]);
    expect(order).toEqual([1, 2, 3]);
  });

  test('[PRS-2] [MET-2] [MET-3] it tells how long the first in line has waited, and nothing when nobody waits', async () => {
    const { driver, running, holding } = await busyDriver();
    expect(driver.pressure()).toMatchObject({ poolWaitMs: 0, walBytes: null });
    expect(driver.pool()).toEqual({ size: 1, leased: 1, idle: 0, waiting: 0 });
    const waiting = ping(driver);
    await until('a wait has lasted', () => driver.pressure().poolWaitMs! > 20);
    expect(driver.pool()).toEqual({ size: 1, leased: 1, idle: 0, waiting: 1 });
    holding.gate.send();
    await Promise.all([running, waiting]);
    expect(driver.pool()).toEqual({ size: 1, leased: 0, idle: 1, waiting: 0 });
    expect(driver.pressure().poolWaitMs).toBe(0);
    expect(driver.pressure().statementMs).toBeGreaterThan(0);
  });

  test('a wait longer than acquireTimeoutMs is an outage; the one that gave up takes nothing later', async () => {
    const { driver, running, holding } = await busyDriver({ acquireTimeoutMs: 50 });
    const error = await failureOf(ping(driver));
    expect(error).toMatchObject({ name: 'StoreOutage', outcome: 'none' });
    expect(error.message).toContain('none of 1 connections was free in 50 ms');
    holding.gate.send();
    await running;
    await ping(driver);
  });

  test('never more connections than poolSize, and one that breaks makes room for another', async () => {
    const proxy = await startProxy(database.url);
    const driver = await openDriver(proxy.url, { poolSize: 2 });
    await Promise.all(Array.from({ length: 20 }, () => ping(driver)));
    expect(proxy.connections).toBe(2);
    await proxy.endAll();
    await Promise.all(Array.from({ length: 20 }, () => ping(driver)));
    expect(proxy.connections).toBe(4);
  });

  test('one that cannot be opened gives its place to the next in line', async () => {
    const proxy = await startProxy(database.url);
    const driver = await openDriver(proxy.url, { poolSize: 1 });
    await proxy.endAll();
    proxy.on('SET NAMES', 'cut', 2);
    const outcomes = await Promise.allSettled(Array.from({ length: 5 }, () => ping(driver)));
    expect(outcomes.map((outcome) => outcome.status)).toEqual([
      'rejected',
      'rejected',
      'fulfilled',
      'fulfilled',
      'fulfilled',
    ]);
  });

  test('an idle connection is lent again, the one used last first, until it is too old', async () => {
    let now = 0;
    const clock = { ...systemClock, monotonic: () => now };
    const driver = await openDriver(database.url, { poolSize: 2, idleTimeoutMs: 10_000, clock });
    const first = await connectionOf(driver);
    now = 9_999;
    expect(await connectionOf(driver)).toBe(first);
    now += 10_000;
    expect(await connectionOf(driver)).not.toBe(first);
  });
});

describe('close', () => {
  test('lets a running transaction end and refuses the waiting and the new', async () => {
    const { driver, running, holding } = await busyDriver();
    const waiting = failureOf(ping(driver));
    const closing = driver.close();
    expect(await waiting).toMatchObject({ name: 'StoreOutage', outcome: 'none' });
    expect(await failureOf(ping(driver))).toMatchObject({ message: 'the store is closed' });
    holding.gate.send();
    expect(await running).toEqual([{ One: 1 }]);
    await closing;
  });

  test('cuts off what does not end in time', async () => {
    const { driver, running, holding } = await busyDriver({ closeTimeoutMs: 30 });
    await driver.close();
    holding.gate.send();
    expect(await failureOf(running)).toMatchObject({ name: 'StoreOutage' });
  });

  test('twice is once, and the server has no connection of it left', async () => {
    const connections = new Set<number>();
    const driver = await openDriver(database.url, {
      poolSize: 4,
      onStatement: (step) => {
        connections.add(step.connectionId);
      },
    });
    await Promise.all([1, 2, 3, 4].map(() => ping(driver)));
    await Promise.all([driver.close(), driver.close()]);
    await driver.close();
    const list = [...connections].join(', ');
    await until('all are gone', async () => {
      return (
        (await ask(database.url, `SELECT 1 FROM information_schema.PROCESSLIST WHERE ID IN (${list})`))
          .length === 0
      );
    });
  });
});

describe('exclusively', () => {
  test('runs one section of a name at a time, over all processes', async () => {
    const drivers = await Promise.all([1, 2, 3].map(() => openDriver(database.url)));
    let inside = 0;
    let most = 0;
    const section = async () => {
      most = Math.max(most, ++inside);
      await ask(database.url, 'DO 1');
      inside--;
    };
    await Promise.all(drivers.map((driver) => driver.exclusively('migrate', section)));
    expect(most).toBe(1);
  });

  test('other names and other databases do not wait', async () => {
    const other = await createDatabase();
    const [here, there] = [await openDriver(database.url), await openDriver(other.url)];
    const inner = here.exclusively('migrate', () =>
      here.exclusively('backfill', () => there.exclusively('migrate', async () => 'all three')),
    );
    expect(await inner).toBe('all three');
    await other.drop();
  });

  test('gives up with contention after exclusiveWaitMs', async () => {
    const [first, second] = [
      await openDriver(database.url),
      await openDriver(database.url, { exclusiveWaitMs: 1 }),
    ];
    const entered = signal();
    const leave = signal();
    const held = first.exclusively('migrate', async () => {
      entered.send();
      await leave.happened;
    });
    await entered.happened;
    expect(await failureOf(second.exclusively('migrate', async () => 0))).toMatchObject({
      name: 'Contention',
    });
    leave.send();
    await held;
  });

  test('whoever waits for its turn gives up at once when its driver is closed', async () => {
    const first = await openDriver(database.url);
    const second = await openDriver(database.url);
    const entered = signal();
    const leave = signal();
    const held = first.exclusively('migrate', async () => {
      entered.send();
      await leave.happened;
    });
    await entered.happened;
    const waiting = failureOf(second.exclusively('migrate', async () => 0));
    await until('the second waits', async () => {
      const rows = await ask(database.url, 'SHOW PROCESSLIST');
      return rows.some((row) => row.db === database.name && String(row.Info).includes('GET_LOCK'));
    });
    await second.close();
    expect(await waiting).toMatchObject({
      name: 'StoreOutage',
      outcome: 'none',
      message: 'the store is closed',
    });
    leave.send();
    await held;
  });

  test('a failing section lets go of the lock; a lock lost in mid-section is an unknown outcome', async () => {
    const driver = await openDriver(database.url, { poolSize: 1 });
    const failing = driver.exclusively('migrate', async () => {
      throw new RangeError('a bug');
    });
    await expect(failing).rejects.toThrow(RangeError);
    const losing = driver.exclusively('migrate', async () => {
      const lock = lockName(database.name, 'migrate');
      const [holder] = await ask(database.url, `SELECT IS_USED_LOCK('${lock}') AS Id`);
      await killConnection(database.url, Number(holder!.Id));
    });
    expect(await failureOf(losing)).toMatchObject({ name: 'StoreOutage', outcome: 'unknown' });
  });

  test('script runs each statement by itself', async () => {
    const driver = await openDriver(database.url);
    const failing = driver.script(['CREATE TABLE made (id INT)', 'CREATE TABLE made (id INT)']);
    expect(await failureOf(failing)).toMatchObject({ errno: 1050 });
    expect(await ask(database.url, 'SELECT COUNT(*) AS Found FROM made')).toEqual([{ Found: 0 }]);
  });
});
