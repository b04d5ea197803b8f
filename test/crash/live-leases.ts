import { afterEach, beforeEach, expect, test } from 'vitest';
import { CrashBench, eventually } from '../support/crash-bench.js';
import { type CrashDatabase, type ItemRow, itemRows } from '../support/crash-database.js';
import { fill } from '../support/crash-fill.js';

const TIMEOUT_MS = 180_000;
const LEASE_MS = 5_000;
const LEASES = 3;
const DRAIN = { leaseMs: LEASE_MS, flowDeadlineMs: 120_000, workersPerPack: 4 };

const ENDED_WELL = { code: 0, signal: null };

async function heldBy(database: CrashDatabase): Promise<ReadonlyMap<string, ItemRow>> {
  const rows = (await itemRows(database)).filter(({ state }) => state === 'processing');
  return new Map(rows.map((row) => [row.item, row]));
}

/** @param helpers processes that wait for a lease to run out, beside the one that holds them. */
export function liveLeasesSuite(engine: string, open: () => Promise<CrashDatabase>, helpers: number): void {
  let bench: CrashBench;
  beforeEach(async () => {
    bench = new CrashBench(await open());
  });
  afterEach(() => bench.close());

  test(
    `[TRM-4, EXE-3] a flow that takes ${LEASES} leases keeps its item, also when it blocks the event loop now and then: ${engine}`,
    async () => {
      const done = bench.signal('done');
      const sent = await fill(bench.database, {
        items: 4,
        lanes: 2,
        behaviours: [
          { kind: 'gate', path: done },
          { kind: 'bursts', path: done, ms: LEASE_MS / 5 },
        ],
      });
      const role = helpers > 0 ? 'worker' : 'all';
      const holder = bench.spawn('holder', { role, drain: DRAIN });
      await eventually(() => bench.ledger.live('holder').length === 2, 'both flows run');
      const others = Array.from({ length: helpers }, (_, n) =>
        bench.spawn(`waiting-${n}`, { role, drain: DRAIN }),
      );
      for (const other of others) await other.until('serving');
      const claimed = await heldBy(bench.database);
      expect([...claimed.keys()].sort()).toEqual(sent.slice(0, 2).map(({ item }) => item));
      await eventually(async () => {
        const held = await heldBy(bench.database);
        return [...claimed].every(([item, { epoch, leaseUntil }]) => {
          const now = held.get(item);
          if (now?.epoch !== epoch) throw new Error(`the lease of ${item} was not kept`);
          return now.leaseUntil! >= leaseUntil! + LEASES * LEASE_MS;
        });
      }, `both leases were renewed for ${LEASES} times their length`);
      bench.raise(done);
      await eventually(() => bench.ledger.finished() === sent.length, 'everything has run');
      await holder.drained();
      for (const process of [holder, ...others]) expect(await process.terminate()).toEqual(ENDED_WELL);

      expect(await bench.violations(sent)).toEqual([]);
      expect(bench.ledger.started()).toBe(sent.length);
      const rows = await itemRows(bench.database);
      expect(rows.filter(({ state, failures }) => state !== 'completed' || failures > 0)).toEqual([]);
    },
    TIMEOUT_MS,
  );
}
