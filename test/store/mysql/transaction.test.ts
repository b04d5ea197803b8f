import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Contention, DuplicateKey } from '../../../src/store/driver.js';
import { type Plan, type Row, read, write } from '../../../src/store/plan.js';
import { createDatabase, type TestDatabase } from '../../support/mariadb.js';
import { ask, failureOf, hold, openDriver, signal, statement, until } from './support.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
  await ask(database.url, 'CREATE TABLE account (id INT PRIMARY KEY, amount BIGINT NOT NULL) ENGINE=InnoDB');
});
afterAll(() => database.drop());
beforeEach(async () => {
  await ask(database.url, 'DELETE FROM account');
  await ask(database.url, 'INSERT INTO account VALUES (1, 100), (2, 100)');
});

const add = statement('write', 'add', 'UPDATE account SET amount = amount + ? WHERE id = ?');
const insert = statement('write', 'insert', 'INSERT INTO account (id, amount) VALUES (?, ?)');
const all = statement('read', 'all', 'SELECT id, amount FROM account ORDER BY id');
const lock = statement('read', 'lock', 'SELECT amount FROM account WHERE id = ? FOR UPDATE');

const stored = () => ask(database.url, 'SELECT id, amount FROM account ORDER BY id');
const untouched = [
  { id: 1, amount: 100 },
  { id: 2, amount: 100 },
];

describe('[ADM-3] what a plan decides', () => {
  test('its return commits everything, its throw nothing', async () => {
    const driver = await openDriver(database.url, { poolSize: 1 });
    const plan = function* (fails: boolean): Plan<string> {
      yield* write(add, [-1, 1]);
      yield* write(add, [1, 2]);
      if (fails) throw new RangeError('a bug');
      return 'done';
    };
    await expect(driver.transaction(() => plan(true))).rejects.toThrow(RangeError);
    expect(await stored()).toEqual(untouched);
    expect(await driver.transaction(() => plan(false))).toBe('done');
    expect(await stored()).toEqual([
      { id: 1, amount: 99 },
      { id: 2, amount: 101 },
    ]);
  });

  test('outside a transaction each statement commits by itself', async () => {
    const driver = await openDriver(database.url, { poolSize: 1 });
    const failing = driver.query(function* (): Plan<void> {
      yield* write(add, [1, 1]);
      throw new RangeError('a bug');
    });
    await expect(failing).rejects.toThrow(RangeError);
    expect((await stored())[0]).toEqual({ id: 1, amount: 101 });
  });

  test('a permanent error aborts the plan, runs its finally, and leaves as the engine said it', async () => {
    const driver = await openDriver(database.url, { poolSize: 1 });
    let unwound = false;
    const wrong = statement('read', 'wrong', 'SELECT nothing FROM account');
    const failing = driver.transaction(function* (): Plan<void> {
      try {
        yield* write(add, [1, 1]);
        yield* read(wrong);
      } finally {
        unwound = true;
      }
    });
    expect(await failureOf(failing)).toMatchObject({ errno: 1054 });
    expect(unwound).toBe(true);
    expect(await stored()).toEqual(untouched);
  });
});

describe('[MAT-2] 1062', () => {
  test('is thrown into the plan, which goes on in the same transaction', async () => {
    const driver = await openDriver(database.url, { poolSize: 1 });
    const seen = await driver.transaction(function* (): Plan<unknown> {
      yield* write(add, [5, 1]);
      try {
        yield* write(insert, [2, 0]);
      } catch (error) {
        yield* write(insert, [3, 0]);
        return error;
      }
      return 'not refused';
    });
    expect(seen).toBeInstanceOf(DuplicateKey);
    expect(await stored()).toEqual([
      { id: 1, amount: 105 },
      { id: 2, amount: 100 },
      { id: 3, amount: 0 },
    ]);
  });

  test('that the plan does not catch rolls the transaction back', async () => {
    const driver = await openDriver(database.url, { poolSize: 1 });
    const failing = driver.transaction(function* (): Plan<void> {
      yield* write(add, [5, 1]);
      yield* write(insert, [2, 0]);
    });
    await expect(failing).rejects.toThrow(DuplicateKey);
    expect(await stored()).toEqual(untouched);
    expect(await driver.query(() => read<Row>(all))).toEqual(untouched);
  });
});

describe('[ADM-3] contention leaves nothing behind', () => {
  test('FIELD §1: 1205 undoes the whole transaction, not only the statement, and the connection is good again', async () => {
    const owner = await openDriver(database.url);
    const waiter = await openDriver(database.url, { poolSize: 1, lockWaitMs: 1_000 });
    const holding = hold('all');
    const owning = await openDriver(database.url, { onStatement: holding.onStatement });
    const owned = owning.transaction(function* (): Plan<void> {
      yield* write(add, [1, 2]);
      yield* read(all);
    });
    await holding.reached.happened;
    const failing = waiter.transaction(function* (): Plan<void> {
      yield* write(add, [7, 1]);
      yield* write(add, [7, 2]);
    });
    expect(await failureOf(failing)).toMatchObject({ name: 'Contention', cause: { errno: 1205 } });
    holding.gate.send();
    await owned;
    await waiter.transaction(function* (): Plan<number> {
      return yield* write(add, [1, 1]);
    });
    expect(await owner.query(() => read<Row>(all))).toEqual([
      { id: 1, amount: 101 },
      { id: 2, amount: 101 },
    ]);
  });

  test('FIELD §1: of two plans that lock in opposite order one gets 1213 and leaves nothing behind', async () => {
    const met = [signal(), signal()];
    const meet = (mine: number) => async (step: { name: string; kind: string }) => {
      if (step.name !== 'lock') return;
      met[mine]!.send();
      await Promise.all(met.map((other) => other.happened));
    };
    const crossing = async (mine: number) => {
      const driver = await openDriver(database.url, { onStatement: meet(mine) });
      return driver.transaction(function* (): Plan<void> {
        yield* write(add, [1, 1 + mine]);
        yield* read(lock, [2 - mine]);
        yield* write(add, [1, 2 - mine]);
      });
    };
    const outcomes = await Promise.allSettled([crossing(0), crossing(1)]);
    const failed = outcomes.filter((outcome) => outcome.status === 'rejected');
    expect(failed).toHaveLength(1);
    expect(failed[0]!.reason).toBeInstanceOf(Contention);
    expect(failed[0]!.reason.cause).toMatchObject({ errno: 1213 });
    expect(await stored()).toEqual([
      { id: 1, amount: 101 },
      { id: 2, amount: 101 },
    ]);
  });

  test('FIELD §1: after 1020 nothing that the plan still yields is sent: it would commit by itself', async () => {
    const holding = hold('lock');
    const driver = await openDriver(database.url, {
      poolSize: 1,
      isolation: 'repeatable-read',
      snapshotIsolation: true,
      snapshotBegin: true,
      onStatement: holding.onStatement,
    });
    const failing = driver.transaction(function* (): Plan<void> {
      try {
        yield* read(lock, [1]);
      } finally {
        yield* write(insert, [3, 0]);
      }
    });
    await holding.reached.happened;
    await ask(database.url, 'UPDATE account SET amount = 50 WHERE id = 1');
    holding.gate.send();
    expect(await failureOf(failing)).toMatchObject({ name: 'Contention', cause: { errno: 1020 } });
    expect((await stored()).map((row) => row.id)).toEqual([1, 2]);
    expect(await driver.transaction(() => read<Row>(lock, [1]))).toEqual([{ amount: 50 }]);
  });
});

describe('snapshots', () => {
  const sumAfterAnotherCommit = async (options: Parameters<typeof openDriver>[1]) => {
    const holding = hold('all');
    const driver = await openDriver(database.url, { ...options, onStatement: holding.onStatement });
    const sum = driver.transaction(function* (): Plan<number> {
      const rows = yield* read<{ amount: number }>(all);
      return rows.reduce((total, { amount }) => total + amount, 0);
    });
    await holding.reached.happened;
    await ask(database.url, 'UPDATE account SET amount = 150 WHERE id = 1');
    holding.gate.send();
    return sum;
  };

  test('FIELD §1: snapshotBegin fixes the snapshot at BEGIN, as TiDB does', async () => {
    expect(await sumAfterAnotherCommit({ isolation: 'repeatable-read', snapshotBegin: true })).toBe(200);
  });

  test('without it the first read fixes the snapshot', async () => {
    expect(await sumAfterAnotherCommit({ isolation: 'repeatable-read' })).toBe(250);
  });

  test('read committed is the default: a second read sees what others committed in between', async () => {
    const holding = hold('again');
    const driver = await openDriver(database.url, { onStatement: holding.onStatement });
    const again = statement('read', 'again', 'SELECT amount FROM account WHERE id = 1');
    const seen = driver.transaction(function* (): Plan<unknown> {
      yield* read(all);
      return yield* read(again);
    });
    await holding.reached.happened;
    await ask(database.url, 'UPDATE account SET amount = 150 WHERE id = 1');
    holding.gate.send();
    expect(await seen).toEqual([{ amount: 150 }]);
  });
});

test('onStatement sees begin, each statement by name, and commit, on one connection', async () => {
  const steps: string[] = [];
  const connections = new Set<number>();
  const driver = await openDriver(database.url, {
    onStatement: (step) => {
      steps.push(`${step.kind} ${step.name}`);
      connections.add(step.connectionId);
    },
  });
  await driver.transaction(function* (): Plan<void> {
    yield* read(all);
    yield* write(add, [0, 1]);
  });
  expect(steps).toEqual(['begin begin', 'statement all', 'statement add', 'commit commit']);
  expect(connections.size).toBe(1);
  await until('the process list knows it', async () => {
    const [id] = connections;
    return (
      (await ask(database.url, `SELECT 1 FROM information_schema.PROCESSLIST WHERE ID = ${id}`)).length === 1
    );
  });
});
