/** Sizes and races at which home-made queues fail, each with its right outcome, on any engine. */
import { describe, expect, it } from 'vitest';
import type { QueueClass } from '../../src/core/work.js';
import type { ClaimedItem, ClaimRequest } from '../../src/store/store.js';
import type { Engine } from '../conformance/engine.js';
import { count, type Fixture, ITEM, useStore } from '../conformance/fixture.js';
import { admitMany, drainInClaims, fullClaims } from './lane-backlog.js';
import { inWords, STRESS_TIMEOUT_MS, stressed } from './stress-options.js';

const HOUR_MS = 3_600_000;
const SUCCESSORS = stressed(12_000);
const READY_LANES = stressed(1_000);
const BACKLOG = stressed(100_000);
const LIVE_LEASES = stressed(10_000);
const ROUNDS = stressed(10_000);
const RACERS = 16;
const CLAIMERS = 32;
const BUDGET = 20;

export function describeStress(engine: Engine): void {
  describe(`stress on ${engine.name}`, { timeout: STRESS_TIMEOUT_MS }, () => {
    const at = useStore(engine);

    it(`[OWN-2] one lane failed with ${inWords(SUCCESSORS)} successors beside ${inWords(READY_LANES)} ready lanes → the others keep their rate`, async () => {
      await admitMany(at, SUCCESSORS + 1, () => ({ source: 'failing' }));
      const [head] = await at.claim();
      await at.finish([head!], {
        kind: 'failed',
        error: { code: 'boom', message: 'boom' },
        delayMs: HOUR_MS,
      });
      await admitMany(at, READY_LANES, (n) => ({ source: `ready-${n}` }));
      expect(await drainInClaims(at)).toEqual(fullClaims(READY_LANES));
      expect(await count(at, ITEM, "State = 'completed'")).toBe(READY_LANES);
    });

    it('[OWN-2] a batch claim of 50 over 10 deep lanes → at most one per lane', async () => {
      await admitMany(at, 1_000, (n) => ({ source: `lane-${n % 10}` }));
      for (let round = 0; round < 5; round++) {
        const items = await at.claim({ maxClaims: 50 });
        expect(new Set(items.map(({ laneKey }) => laneKey)).size).toBe(10);
        expect(items).toHaveLength(10);
        expect(await at.claim({ maxClaims: 50 })).toEqual([]);
        await at.finish(items);
      }
    });

    it('[OWN-2] a newer high-priority item in a lane → head first', async () => {
      await at.admit({ events: [{ source: 'a', queueClass: 'bulk', payload: 'older' }] });
      await at.admit({ events: [{ source: 'a', queueClass: 'interactive', payload: 'newer' }] });
      await at.admit({ events: [{ source: 'b', queueClass: 'interactive', payload: 'other lane' }] });
      const preferred = { preference: ['interactive'] as const, maxClaims: 1 };
      const order: string[] = [];
      for (let n = 0; n < 3; n++) {
        const items = await at.claim(preferred);
        const [event] = await at.store.loadEvents(items.map(({ eventId }) => eventId));
        order.push(Buffer.from(event!.payload).toString());
        await at.finish(items);
      }
      expect(order).toEqual(['other lane', 'older', 'newer']);
    });

    it(`[QCL-1] [QCL-3] one class with ${inWords(BACKLOG)} waiting → the first claim for the others brings theirs`, async () => {
      await admitMany(at, BACKLOG, (n) => ({ source: `bulk-${n}`, queueClass: 'bulk' }));
      const late = ['interactive', 'default', 'interactive'] as const;
      await at.admit({ events: late.map((queueClass, n) => ({ source: `late-${n}`, queueClass })) });
      const classes = async (changes: Partial<ClaimRequest>): Promise<readonly QueueClass[]> =>
        (await at.claim(changes)).map(({ queueClass }) => queueClass);
      expect(await classes({ preference: ['interactive'], maxClaims: 1 })).toEqual(['interactive']);
      expect(await classes({ queueClasses: ['interactive', 'default'] })).toEqual(['default', 'interactive']);
      expect(await classes({ queueClasses: ['interactive', 'default'] })).toEqual([]);
      expect(await classes({ preference: ['interactive'], maxClaims: 2 })).toEqual(['bulk', 'bulk']);
    });

    it('[OWN-3] a head delayed an hour → its lane waits, visible in the statistics', async () => {
      await at.admit({ events: [{ source: 'a', runAfter: Date.now() + HOUR_MS }] });
      await admitMany(at, 20, () => ({ source: 'a' }));
      expect(await at.claim()).toEqual([]);
      for (const exact of [false, true]) {
        const { packs } = await at.store.stats({ exact });
        const { classes } = packs.find(({ pack }) => pack === at.pack.pack)!;
        expect(classes.default).toMatchObject({ delayed: 1, blocked: 20, ready: 0 });
      }
    });

    it(`[OWN-5] [TRM-2] ${inWords(LIVE_LEASES)} long live leases, then one dead → the dead one is found`, async () => {
      const budget = { processingBudget: LIVE_LEASES + 1, maxClaims: 500, leaseMs: HOUR_MS };
      await admitMany(at, LIVE_LEASES, (n) => ({ source: `lane-${n}` }));
      let last: ClaimedItem | undefined;
      for (let held = 0; held < LIVE_LEASES; ) {
        const items = await at.claim(budget);
        held += items.length;
        last = items.at(-1);
      }
      expect(await at.claim({ ...budget, mode: 'stale' })).toEqual([]);
      await at.sql(`UPDATE ${ITEM} SET LeaseUntil = 1 WHERE WorkId = ?`, [last!.lease.workId]);
      const found = await at.claim({ ...budget, mode: 'stale' });
      expect(found.map(({ lease, reclaimed }) => [lease.workId, reclaimed])).toEqual([
        [last!.lease.workId, true],
      ]);
    });

    it(`[OWN-2] [MAT-1] enqueue and complete of one lane at the same moment, ${inWords(ROUNDS)} rounds → no successor lost, without a maintenance tick`, async () => {
      await at.admit({ events: Array.from({ length: RACERS }, (_, n) => ({ source: `lane-${n}` })) });
      let running = await at.claim();
      for (let done = 0; done < ROUNDS; done += RACERS) {
        await Promise.all(
          running.flatMap((item, n) => [at.finish([item]), at.admit({ events: [{ source: `lane-${n}` }] })]),
        );
        running = await at.claim();
        expect(running).toHaveLength(RACERS);
      }
      await at.finish(running);
      expect(await at.store.peek({ ...scopeOf(at) })).toMatchObject({ ready: false });
      expect(await count(at, ITEM, "State <> 'completed'")).toBe(0);
    });

    it(`[OWN-2] [OWN-5] ${CLAIMERS} workers plus enqueuers → no unhandled 1213 or 1205, nothing lost, every lane in order`, async () => {
      const lanes = 40;
      const perLane = stressed(500);
      const started: ClaimedItem[] = [];
      let admitted = 0;
      const enqueue = async (first: number): Promise<void> => {
        for (let n = first; n < perLane; n += 4) {
          await at.admit({
            events: Array.from({ length: lanes }, (_, lane) => ({ source: `lane-${lane}` })),
          });
          admitted += lanes;
        }
      };
      const work = async (): Promise<void> => {
        while (started.length < lanes * perLane) {
          const items = await at.claim({ maxClaims: 4 });
          started.push(...items);
          await at.finish(items);
          // A worker that finds nothing lets the others have the turn.
          if (items.length === 0) await new Promise((resolve) => setImmediate(resolve));
        }
      };
      await Promise.all([...[0, 1, 2, 3].map(enqueue), ...Array.from({ length: CLAIMERS }, work)]);
      expect([admitted, started.length]).toEqual([lanes * perLane, lanes * perLane]);
      expect(new Set(started.map(({ lease }) => lease.workId)).size).toBe(lanes * perLane);
      expect(await count(at, ITEM, "State = 'completed' AND Failures = 0")).toBe(lanes * perLane);
      expect(inversions(started)).toEqual([]);
    });

    it('[DRN-1] [TRM-2] a budget shared by parallel claimers → never exceeded', async () => {
      await admitMany(at, 400, (n) => ({ source: `lane-${n}` }));
      for (let round = 0; round < 5; round++) {
        const claims = Array.from({ length: RACERS }, () =>
          at.claim({ maxClaims: 8, processingBudget: BUDGET }),
        );
        const most: number[] = [];
        const watch = async (): Promise<void> => {
          for (let n = 0; n < 10; n++) most.push(await count(at, ITEM, "State = 'processing'"));
        };
        const [items] = await Promise.all([Promise.all(claims), watch()]);
        expect(items.flat()).toHaveLength(BUDGET);
        expect(Math.max(...most)).toBeLessThanOrEqual(BUDGET);
        await at.finish(items.flat());
      }
    });
  });
}

const scopeOf = (at: Fixture) => ({
  packId: at.pack.packId,
  generation: at.pack.generation,
  claimWorkTypes: [],
  queueClasses: [],
});

/** Items of a lane that were given out before one of the lane that came earlier. */
function inversions(started: readonly ClaimedItem[]): readonly ClaimedItem[] {
  const last = new Map<string, number>();
  return started.filter(({ laneKey, laneOrdinal }) => {
    const before = last.get(laneKey!) ?? 0;
    last.set(laneKey!, Math.max(before, laneOrdinal));
    return laneOrdinal < before;
  });
}
