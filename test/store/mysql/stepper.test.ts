import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Plan, read, write } from '../../../src/store/plan.js';
import { Interleavings } from '../../support/interleavings.js';
import { parseLockWaits } from '../../support/lock-waits.js';
import { createDatabase, type TestDatabase } from '../../support/mariadb.js';
import { planned, stepThrough } from '../../support/stepper.js';
import { ask, failureOf, openDriver, statement } from './support.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
  await ask(database.url, 'CREATE TABLE counter (id INT PRIMARY KEY, value INT NOT NULL) ENGINE=InnoDB');
});
afterAll(() => database.drop());

const select = statement('read', 'select', 'SELECT value FROM counter WHERE id = ?');
const lock = statement('read', 'lock', 'SELECT value FROM counter WHERE id = ? FOR UPDATE');
const update = statement('write', 'update', 'UPDATE counter SET value = ? WHERE id = ?');
const reset = statement('write', 'reset', 'UPDATE counter SET value = 0');

function* increment(reading: typeof select, id = 1): Plan<number> {
  const [row] = yield* read<{ value: number }>(reading, [id]);
  yield* write(update, [row!.value + 1, id]);
  return row!.value + 1;
}

async function prepare() {
  await ask(database.url, 'REPLACE INTO counter VALUES (1, 0), (2, 0)');
  const driver = await openDriver(database.url, { poolSize: 1 });
  const values = async () => {
    const all = statement('read', 'all', 'SELECT value FROM counter ORDER BY id');
    return (await driver.query(() => read<{ value: number }>(all))).map((row) => row.value);
  };
  return { values, fixture: async () => void (await driver.transaction(() => write(reset))) };
}

describe('the stepper on a textbook example', { timeout: 120_000 }, () => {
  test('finds the lost update of two plain reads, and names the interleaving', async () => {
    const { values, fixture } = await prepare();
    const both = planned(() => increment(select));
    const invariant = async () => expect((await values())[0]).toBe(2);
    const error = await failureOf(
      stepThrough({ url: database.url, participants: { A: both, B: both }, fixture, invariant }),
    );
    expect(error.message).toMatch(/broke the invariant: expected 1 to be 2/);
    const reads = error.message.split('\n').flatMap((line, at) => (line.endsWith(' select') ? [at] : []));
    const writes = error.message.split('\n').flatMap((line, at) => (line.endsWith(' update') ? [at] : []));
    expect(Math.max(...reads)).toBeLessThan(Math.max(...writes));
  });

  test('every order of every step: the outcome of each is what its order says', async () => {
    const { values, fixture } = await prepare();
    const both = planned(() => increment(select));
    const seen = new Set<string>();
    const report = await stepThrough<void>({
      url: database.url,
      participants: { A: both, B: both },
      fixture,
      everyOrder: true,
      invariant: async ({ steps }) => {
        seen.add(steps.join(', '));
        const firstCommit = steps.findIndex((step) => step.endsWith('commit'));
        const lastRead = steps.findLastIndex((step) => step.endsWith('select'));
        expect((await values())[0]).toBe(lastRead > firstCommit ? 2 : 1);
      },
    });
    // Of 70 orders of four steps each, those stay in which the second update waits for the first one's commit.
    expect(report).toMatchObject({ run: seen.size, of: seen.size, exhaustive: true, restarts: 0 });
    expect(seen.size).toBeGreaterThan(20);
    expect(seen.size).toBeLessThan(70);
    expect(report.waits).toBeGreaterThan(0);
  });

  const crossing = (first: number, second: number) =>
    planned(function* () {
      return [yield* increment(lock, first), yield* read(lock, [second])];
    });
  const mixed = planned(function* () {
    const before = yield* read(select, [2]);
    yield* increment(lock, 1);
    return [before, yield* read(select, [2])];
  });
  const snapshot = { isolation: 'repeatable-read', snapshotBegin: true } as const;
  test.each([
    ['plain reads', { A: planned(() => increment(select)), B: planned(() => increment(select)) }, {}],
    ['plain reads in old snapshots', { A: mixed, B: planned(() => increment(select, 2)) }, snapshot],
    [
      'first reads of snapshots',
      { A: mixed, B: planned(() => increment(select, 2)) },
      { isolation: 'repeatable-read' as const },
    ],
    ['locking reads', { A: planned(() => increment(lock)), B: planned(() => increment(lock)) }, {}],
    ['deadlocks', { A: crossing(1, 2), B: crossing(2, 1) }, {}],
  ])(
    '%s: leaving out orders of steps that cannot meet loses no outcome',
    async (_case, participants, driver) => {
      const { values, fixture } = await prepare();
      const outcomes = async (everyOrder: boolean) => {
        const found = new Set<string>();
        const report = await stepThrough<void>({
          url: database.url,
          participants,
          fixture,
          everyOrder,
          driver,
          invariant: async ({ results }) => void found.add(JSON.stringify([results, await values()])),
        });
        expect(report.exhaustive).toBe(true);
        return { run: report.run + report.repeats, found: [...found].sort() };
      };
      const [few, every] = [await outcomes(false), await outcomes(true)];
      expect(few.found).toEqual(every.found);
      expect(few.run).toBeLessThan(every.run);
    },
  );

  test('finds no lost update when the reads lock', async () => {
    const { values, fixture } = await prepare();
    const both = planned(() => increment(lock));
    const report = await stepThrough<void>({
      url: database.url,
      participants: { A: both, B: both },
      fixture,
      invariant: async ({ results }) => {
        expect((await values())[0]).toBe(2);
        expect([results.A, results.B].sort()).toEqual([1, 2]);
      },
    });
    expect(report).toMatchObject({ exhaustive: true, restarts: 0 });
    expect(report.waits).toBeGreaterThan(0);
  });

  test('a deadlock’s victim is started again whole, and the run goes on', async () => {
    const { values, fixture } = await prepare();
    const crossing = (first: number, second: number) =>
      planned(function* () {
        yield* increment(lock, first);
        yield* increment(lock, second);
      });
    const report = await stepThrough({
      url: database.url,
      participants: { A: crossing(1, 2), B: crossing(2, 1) },
      fixture,
      limit: 100,
      invariant: async () => expect(await values()).toEqual([2, 2]),
    });
    expect(report.restarts).toBeGreaterThan(0);
  });

  test('three participants, and a participant that fails: its error is its result', async () => {
    const { values, fixture } = await prepare();
    const report = await stepThrough<void>({
      url: database.url,
      everyOrder: true,
      participants: {
        A: planned(() => increment(lock)),
        B: planned(() => increment(lock)),
        C: (driver) =>
          driver.transaction(function* (): Plan<void> {
            yield* increment(lock);
            throw new RangeError('a bug');
          }),
      },
      fixture,
      limit: 40,
      invariant: async ({ results }) => {
        expect((await values())[0]).toBe(2);
        expect(results.C).toBeInstanceOf(RangeError);
      },
    });
    expect(report).toMatchObject({ run: 40, exhaustive: false });
    expect(report.of).toBeGreaterThan(40);
  });

  test('the same seed takes the same sample, another seed another', async () => {
    const { fixture } = await prepare();
    const sample = async (seed: number) => {
      const runs: string[] = [];
      const both = planned(() => increment(select));
      await stepThrough<void>({
        url: database.url,
        participants: { A: both, B: both },
        fixture,
        everyOrder: true,
        seed,
        limit: 12,
        invariant: ({ steps }) => void runs.push(steps.join()),
      });
      return runs;
    };
    const first = await sample(7);
    expect(first).toHaveLength(14); // the two serial ones come first
    expect(new Set(first.slice(2)).size).toBe(12);
    expect(await sample(7)).toEqual(first);
    expect(await sample(8)).not.toEqual(first);
  });
});

describe('interleavings', () => {
  interface Step {
    readonly name: string;
    readonly variable: string;
  }
  const every = { isLocal: () => false, areIndependent: () => false };
  const byVariable = {
    isLocal: () => false,
    areIndependent: (a: Step, b: Step) => a.variable !== b.variable,
  };
  /** Runs programs that are lists of variables; tells the order of steps on each variable, which is all that counts. */
  const walk = (order: Interleavings<Step>, programs: Record<string, string>): string => {
    const left = new Map(Object.entries(programs));
    const run: Step[] = [];
    order.begin();
    for (;;) {
      const enabled = [...left].flatMap(([name, rest]) => (rest ? [{ name, variable: rest[0]! }] : []));
      if (enabled.length === 0) break;
      const { name, variable } = order.choose(enabled);
      left.set(name, left.get(name)!.slice(1));
      run.push({ name, variable });
    }
    order.finish();
    const variables = [...new Set(run.map(({ variable }) => variable))].sort();
    const orderOn = (of: string) => run.map(({ name, variable }) => (variable === of ? name : '')).join('');
    return variables.map((variable) => `${variable}:${orderOn(variable)}`).join(' ');
  };

  test('all of a small space, none twice, and the count is exact', () => {
    const order = new Interleavings<Step>(3, every);
    const runs = new Set<string>();
    while (!order.exhausted) runs.add(walk(order, { a: 'xxxx', b: 'xxxx' }));
    expect(runs.size).toBe(70);
    expect(order).toMatchObject({ runs: 70, total: 70, repeats: 0 });
  });

  test('of a large space the number is known', () => {
    const order = new Interleavings<Step>(3, every);
    for (let run = 0; run < 50; run++) walk(order, { a: 'xxxxxxxxxx', b: 'xxxxxxxxxx' });
    expect(order).toMatchObject({ exhausted: false, runs: 50, total: 184_756 });
  });

  test.each([
    { a: 'xyz', b: 'zyx' },
    { a: 'xxy', b: 'yxx' },
    { a: 'xyxy', b: 'yz', c: 'zx' },
    { a: 'xx', b: 'yy' },
  ])('%j: each order of dependent steps is run once, others are left out', (programs) => {
    const all = new Interleavings<Step>(3, every);
    const wanted = new Set<string>();
    while (!all.exhausted) wanted.add(walk(all, programs));
    const order = new Interleavings<Step>(4, byVariable);
    const found = new Set<string>();
    while (!order.exhausted) found.add(walk(order, programs));
    expect(found).toEqual(wanted);
    expect(order.runs).toBe(wanted.size);
    expect(order.runs + order.repeats).toBeLessThan(all.runs);
  });
});

test('lock waits are read from both spellings of the status', () => {
  const status = `LIST OF TRANSACTIONS
---TRANSACTION 46, ACTIVE 0 sec
LOCK WAIT 2 lock struct(s)
MariaDB thread id 8, OS thread handle 1
---TRANSACTION 45, ACTIVE 0 sec
2 lock struct(s)
MariaDB thread id 7, OS thread handle 2
---TRANSACTION 44, ACTIVE 0 sec
LOCK WAIT 3 lock struct(s)
MySQL thread id 9, OS thread handle 3
`;
  expect([...parseLockWaits(status)]).toEqual([8, 9]);
});
