/** Ending on purpose: SIGTERM under load, with claims that never ran, and while the process is still starting. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { CrashBench, eventually, SECRET } from '../support/crash-bench.js';
import { type CrashDatabase, itemRows } from '../support/crash-database.js';
import { fill } from '../support/crash-fill.js';
import { Senders } from '../support/crash-senders.js';
import { seededRandom } from '../support/interleavings.js';

const TIMEOUT_MS = 240_000;
const DRAIN = { workersPerPack: 16, stopGraceMs: 20_000 };
/** Longer than any test: what is not in processing was given back, and did not run out. */
const LONG_LEASES = { ...DRAIN, leaseMs: 600_000 };
/** Long enough for a busy machine to renew in. */
const SHORT_LEASE_MS = 5_000;
const STOPS = 3;
const ENDED_WELL = { code: 0, signal: null };

export function gracefulStopSuite(engine: string, open: () => Promise<CrashDatabase>): void {
  describe(`graceful stop: ${engine}`, () => {
    let bench: CrashBench;
    const sendersOf = (sources: number) => new Senders({ sources, secret: SECRET, random: seededRandom(1) });

    beforeEach(async () => {
      bench = new CrashBench(await open());
    });
    afterEach(() => bench.close());

    /** Serves and drains what is left, then judges everything. */
    async function expectAllDone(senders: Senders): Promise<void> {
      const last = bench.spawn('last', { drain: LONG_LEASES });
      senders.pointTo(await last.url());
      await senders.finish();
      await last.drained();
      expect(await last.terminate()).toEqual(ENDED_WELL);
      const sent = senders.sent();
      const rows = await itemRows(bench.database);
      expect(await bench.violations(sent)).toEqual([]);
      expect(rows.length).toBe(sent.length);
      expect(rows.filter(({ state, failures }) => state !== 'completed' || failures !== 0)).toEqual([]);
    }

    async function expectNothingHeld(): Promise<void> {
      const rows = await itemRows(bench.database);
      expect(rows.filter(({ state }) => state !== 'pending' && state !== 'completed')).toEqual([]);
      expect(rows.filter(({ failures }) => failures > 0)).toEqual([]);
    }

    test(
      '[ADM-1, EXE-3] SIGTERM during claim and batch completion → drains: nothing stays in processing, nothing acknowledged is lost',
      async () => {
        const senders = sendersOf(24);
        const behaviour = { kind: 'wait', ms: 10 } as const;
        for (let stop = 1; stop <= STOPS; stop++) {
          const process = bench.spawn(`life-${stop}`, { drain: LONG_LEASES, behaviour });
          senders.pointTo(await process.url());
          const enough = senders.counts.answers + 50;
          await eventually(
            () => senders.counts.answers > enough && bench.ledger.live(process.name).length > 0,
            'it serves under load',
          );
          expect(await process.terminate()).toEqual(ENDED_WELL);
          senders.pointTo(null);
          expect(bench.ledger.cutOff(process.name)).toBe(0);
          await expectNothingHeld();
        }
        await expectAllDone(senders);
      },
      TIMEOUT_MS,
    );

    test(
      '[TRM-4, EXE-3] SIGTERM while a flow outlasts its lease → drains, heartbeats go on',
      async () => {
        const sent = await fill(bench.database, { items: 1, lanes: 1 });
        const done = bench.signal('done');
        const drain = { ...DRAIN, leaseMs: SHORT_LEASE_MS, flowDeadlineMs: 120_000 };
        const spec = { drain, stopMs: 120_000 };
        const process = bench.spawn('draining', { ...spec, behaviour: { kind: 'gate', path: done } });
        await eventually(() => bench.ledger.live(process.name).length === 1, 'the flow runs');
        const other = engine === 'mysql' ? bench.spawn('other', { ...spec, role: 'worker' }) : null;
        await other?.until('serving');
        const ending = process.terminate();
        const leaseUntil = async () => (await itemRows(bench.database))[0]!.leaseUntil!;
        const enough = (await leaseUntil()) + 3 * SHORT_LEASE_MS;
        await eventually(async () => (await leaseUntil()) >= enough, 'the lease is renewed while it drains');
        bench.raise(done);
        expect(await ending).toEqual(ENDED_WELL);
        if (other !== null) expect(await other.terminate()).toEqual(ENDED_WELL);
        expect(await bench.violations(sent)).toEqual([]);
        expect(await itemRows(bench.database)).toMatchObject([{ state: 'completed', epoch: 1, failures: 0 }]);
      },
      TIMEOUT_MS,
    );

    test(
      '[EXE-3, EXE-4] what was claimed and never ran is given back and costs no failure',
      async () => {
        const senders = sendersOf(8);
        const never = bench.signal('never');
        const process = bench.spawn('holder', { drain: LONG_LEASES, batchRead: never, stopMs: 100 });
        senders.pointTo(await process.url());
        await process.until('claimed');
        expect(await process.terminate()).toEqual(ENDED_WELL);
        senders.pointTo(null);
        expect(bench.ledger.started()).toBe(0);
        const rows = await itemRows(bench.database);
        expect(rows.filter(({ attempt }) => attempt > 0).length).toBeGreaterThan(0);
        await expectNothingHeld();
        await expectAllDone(senders);
      },
      TIMEOUT_MS,
    );

    test(
      '[EXE-3, EXE-4] a flow that gives up when it is asked to is run again, without a failure',
      async () => {
        const senders = sendersOf(8);
        const behaviour = { kind: 'gate', path: bench.signal('never') } as const;
        const process = bench.spawn('giving-up', { drain: LONG_LEASES, behaviour, stopMs: 100 });
        senders.pointTo(await process.url());
        await eventually(() => bench.ledger.live(process.name).length > 0, 'flows run');
        expect(await process.terminate()).toEqual(ENDED_WELL);
        senders.pointTo(null);
        expect(bench.ledger.cutOff(process.name)).toBe(0);
        await expectNothingHeld();
        await expectAllDone(senders);
      },
      TIMEOUT_MS,
    );

    test(
      '[SUP-6] SIGTERM during start → ends it, and the next start finds nothing in its way',
      async () => {
        const senders = sendersOf(8);
        for (const delayMs of [0, 20, 100, 300]) {
          const process = bench.spawn(`starting-${delayMs}`, { drain: LONG_LEASES });
          await process.until('starting');
          await new Promise((resolve) => setTimeout(resolve, delayMs));
          expect(await process.terminate()).toEqual(ENDED_WELL);
        }
        const process = bench.spawn('serving', { drain: LONG_LEASES });
        senders.pointTo(await process.url());
        await eventually(() => senders.counts.answers > 20, 'it serves');
        expect(await process.terminate()).toEqual(ENDED_WELL);
        senders.pointTo(null);
        await expectNothingHeld();
        await expectAllDone(senders);
      },
      TIMEOUT_MS,
    );
  });
}
