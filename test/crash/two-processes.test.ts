/** Two processes, one MariaDB: what is between them is the database alone. */
import { afterEach, expect, test } from 'vitest';
import { CrashBench, eventually } from '../support/crash-bench.js';
import { itemRows, mysqlCrashDatabase } from '../support/crash-database.js';
import { fill } from '../support/crash-fill.js';

const ITEMS = Number(process.env.LANEHEAD_CRASH_ITEMS ?? 20_000);
const LANES = Number(process.env.LANEHEAD_CRASH_LANES ?? 500);
const FEWER = ITEMS / 2;
const PATIENCE_MS = 120_000 + 20 * ITEMS;
const TIMEOUT_MS = 2 * PATIENCE_MS;
/** Each process must do at least this part of the work. */
const SHARE = 0.1;

const DRAIN = { workersPerPack: 32, maxProcessingRows: 128 };
const SHORT_LEASES = { ...DRAIN, leaseMs: 2_000 };

let bench: CrashBench;
afterEach(() => bench.close());

test(
  `[SCH-4, OWN-1, OWN-2, EVO-10] two processes drain ${ITEMS} items over ${LANES} lanes, each item once and each lane in order`,
  async () => {
    bench = new CrashBench(await mysqlCrashDatabase());
    const sent = await fill(bench.database, { items: ITEMS, lanes: LANES });
    const startedAt = performance.now();
    const go = bench.signal('go');
    const workers = ['one', 'two'].map((name) =>
      bench.spawn(name, { role: 'worker', drain: DRAIN, behaviour: { kind: 'gate', path: go } }),
    );
    await eventually(() => workers.every(({ name }) => bench.ledger.live(name).length > 0), 'both have work');
    const drainingAt = performance.now();
    bench.raise(go);
    await eventually(() => bench.ledger.finished() >= ITEMS, 'every item has run', PATIENCE_MS);
    await workers[0]!.drained();
    const drainedAt = performance.now();
    for (const worker of workers) expect(await worker.terminate()).toEqual({ code: 0, signal: null });

    const rows = await itemRows(bench.database);
    const shares = workers.map(({ name }) => bench.ledger.finished(name));
    console.info(
      `two processes: ${JSON.stringify({ items: ITEMS, lanes: LANES, shares, startMs: Math.round(drainingAt - startedAt), drainMs: Math.round(drainedAt - drainingAt) })}`,
    );
    expect(await bench.violations(sent)).toEqual([]);
    expect(rows.filter(({ state, attempt }) => state !== 'completed' || attempt !== 1)).toEqual([]);
    expect(rows.length).toBe(ITEMS);
    expect(shares[0]! + shares[1]!).toBe(ITEMS);
    expect(Math.min(...shares)).toBeGreaterThan(SHARE * ITEMS);
  },
  TIMEOUT_MS,
);

test(
  `[OWN-5, SVC-2, EXE-1] SIGKILL and restart under the same host name → old leases reclaimed, also by another process`,
  async () => {
    bench = new CrashBench(await mysqlCrashDatabase());
    const sent = await fill(bench.database, { items: FEWER, lanes: LANES });
    const spec = { role: 'worker', drain: SHORT_LEASES, behaviour: { kind: 'wait', ms: 5 } } as const;
    // Stands by: the others could be done with everything before a program that is still loading.
    const restarted = bench.spawn('restarted', { ...spec, standby: true });
    await restarted.until('standby');
    const killed = bench.spawn('killed', spec);
    const survivor = bench.spawn('survivor', spec);
    const { ledger } = bench;
    await eventually(
      () =>
        ledger.finished('killed') > 0 && ledger.finished() > FEWER / 3 && ledger.live('killed').length > 0,
      'a third is done, and the victim holds leases',
      PATIENCE_MS,
    );
    await killed.kill();
    const interrupted = ledger.cutOff('killed');
    restarted.go();
    await eventually(() => ledger.finished() >= FEWER, 'every item has run', PATIENCE_MS);
    await restarted.drained();
    for (const worker of [survivor, restarted])
      expect(await worker.terminate()).toEqual({ code: 0, signal: null });

    const rows = await itemRows(bench.database);
    const shares = [killed, survivor, restarted].map(({ name }) => ledger.finished(name));
    const reclaimed = rows.filter(({ failures }) => failures > 0).length;
    console.info(`one of two killed: ${JSON.stringify({ items: FEWER, shares, interrupted, reclaimed })}`);
    expect(await bench.violations(sent)).toEqual([]);
    expect(rows.filter(({ state }) => state !== 'completed')).toEqual([]);
    expect(reclaimed).toBeGreaterThanOrEqual(interrupted);
    expect(Math.min(...shares)).toBeGreaterThan(0);
  },
  TIMEOUT_MS,
);
