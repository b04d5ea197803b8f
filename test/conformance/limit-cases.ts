import { describe, expect, it } from 'vitest';
import type { Limit, RateLimit } from '../../src/core/limits.js';
import type { QueueClass } from '../../src/core/work.js';
import type { ClaimedItem, ClaimLimits, ClaimRequest, InstalledPack } from '../../src/store/store.js';
import { draftReceipt, type EventSketch } from '../support/drafts.js';
import type { Engine } from './engine.js';
import { claimRequest, ITEM, recountByHand, useStore } from './fixture.js';

const LIMIT = '_System_ConnectorLimit';
const LIMITED = '_System_ConnectorLimited';
const HOUR_MS = 3_600_000;

const hourly = (count: number, burst = 1): Limit => ({
  rate: { count, burst, perMs: HOUR_MS },
  concurrency: null,
});
const atOnce = (concurrency: number, rate: RateLimit | null = null): Limit => ({ rate, concurrency });

/** Limits that a pack declares hold at every claim, whoever claims (LIM). */
export function limitCases(engine: Engine): void {
  describe('limits of a pack', () => {
    const at = useStore(engine);

    const limits = (declared: Partial<ClaimLimits>): { limits: ClaimLimits } => ({
      limits: { packName: at.pack.pack, pack: null, namespace: null, source: null, ...declared },
    });

    /** Items that may run side by side, unless a limit says otherwise. */
    const admit = (...sources: string[]) => admitEvents(sources.map((source) => ({ source })));
    const admitEvents = (events: readonly EventSketch[]) => at.admit({ ordering: 'none', events });

    const names = async (items: readonly ClaimedItem[]): Promise<string[]> => {
      const events = await at.store.loadEvents(items.map((item) => item.eventId));
      return events.map((event) => event!.sourceKey);
    };
    const ordinals = (items: readonly ClaimedItem[]) => items.map((item) => item.laneOrdinal);

    /** As if so much time had passed since the limits were written down. */
    async function pass(ms: number): Promise<void> {
      await at.sql(`UPDATE ${LIMIT} SET Arrival = Arrival - ?, DueDate = DueDate - ?`, [ms * 1_000, ms]);
    }

    /** As if nobody had renewed a lease in time. */
    async function expire(): Promise<void> {
      await at.sql(`UPDATE ${ITEM} SET LeaseUntil = 1 WHERE PackId = ? AND State = 'processing'`, [
        at.pack.packId,
      ]);
    }

    /** Items in one range of the queue's index. */
    const inRange = async (bucket: string): Promise<number> => (await at.item('Bucket = ?', bucket)).length;

    it('[LIM-1] a rate of the namespace: so many at once, and the next one when it is due', async () => {
      await admit(...Array.from({ length: 6 }, (_, n) => `source-${n}`));
      const declared = limits({ namespace: hourly(4, 3) });
      expect(await at.claim(declared)).toHaveLength(3);
      const { items, limitedForMs } = await at.store.claim(claimRequest(at.pack, declared));
      expect(items).toEqual([]);
      expect(limitedForMs).toBeGreaterThan(HOUR_MS / 4 - 30_000);
      expect(limitedForMs).toBeLessThanOrEqual(HOUR_MS / 4);
      await pass(HOUR_MS / 4);
      expect(await at.claim(declared)).toHaveLength(1);
      await pass(HOUR_MS / 4 - 30_000);
      expect(await at.claim(declared)).toEqual([]);
      await pass(30_000);
      const last = await at.store.claim(claimRequest(at.pack, { ...declared, maxClaims: 1 }));
      expect(last.items).toHaveLength(1);
    });

    it('[LIM-1] a long pause saves up a burst and no more', async () => {
      await admit(...Array.from({ length: 9 }, (_, n) => `source-${n}`));
      const declared = limits({ namespace: hourly(60, 3) });
      await at.claim(declared);
      await pass(100 * HOUR_MS);
      expect(await at.claim(declared)).toHaveLength(3);
    });

    it('[LIM-1] a concurrency of the namespace, whatever the processing budget and the classes', async () => {
      await admitEvents(
        (['bulk', 'interactive', 'default', 'bulk', 'interactive'] as const).map((queueClass, n) => ({
          source: `source-${n}`,
          queueClass,
        })),
      );
      const declared = limits({ namespace: atOnce(2) });
      const first = await at.claim({ ...declared, queueClasses: ['interactive'] });
      expect(first).toHaveLength(2);
      expect(await at.claim({ ...declared, queueClasses: ['bulk'] })).toEqual([]);
      await at.finish(first.slice(0, 1));
      const next = await at.store.claim(claimRequest(at.pack, declared));
      expect(next.items).toHaveLength(1);
      expect(next.limitedForMs).toBeNull();
    });

    describe('over namespaces', () => {
      async function elsewhere(): Promise<InstalledPack> {
        const { pack, version } = at.pack;
        const [other] = await at.store.installPacks([{ namespace: 'other', pack, version }]);
        return other!;
      }

      async function admitThere(pack: InstalledPack, count: number): Promise<void> {
        const events = Array.from({ length: count }, (_, n) => ({ source: `source-${n}` }));
        const { packId, namespace } = pack;
        const receipts = [draftReceipt(pack, { ordering: 'none', events })];
        await at.store.materialize({ packId, namespace, receipts });
      }

      it('[LIM-1] one rate and one concurrency for all of them, also for claims at the same time', async () => {
        const other = await elsewhere();
        for (const pack of [at.pack, other]) await admitThere(pack, 20);
        const declared = limits({ pack: atOnce(7, { count: 12, burst: 12, perMs: HOUR_MS }) });
        const claimBoth = (changes: Partial<ClaimRequest>) =>
          Promise.all(
            [at.pack, other, at.pack, other].map((pack) =>
              at.store.claim(claimRequest(pack, { ...declared, ...changes })),
            ),
          );
        const first = (await claimBoth({ maxClaims: 3 })).flatMap(({ items }) => items);
        expect(first).toHaveLength(7);
        await at.finish(first);
        const second = (await claimBoth({ maxClaims: 3 })).flatMap(({ items }) => items);
        // Twelve in all: the rate is used up before the places are.
        expect(second).toHaveLength(5);
      });
    });

    it('[LIM-1] [LIM-2] a rate of each source: one that is limited leaves the range that is scanned', async () => {
      await admit('a', 'a', 'b', 'a', 'c', 'a');
      const declared = limits({ source: hourly(60) });
      const first = await at.claim(declared);
      expect(await names(first)).toEqual(['a', 'b', 'c']);
      await at.finish(first);
      expect(await inRange('ready:default')).toBe(0);
      expect(await inRange('delayed')).toBe(3);
      expect(await at.claim(declared)).toEqual([]);
      const { ready, nextInMs } = await at.store.peek(claimRequest(at.pack));
      expect(ready).toBe(false);
      expect(nextInMs).toBeGreaterThan(HOUR_MS / 60 - 30_000);
      expect(nextInMs).toBeLessThanOrEqual(HOUR_MS / 60);
    });

    it('[LIM-3] limited items start in their order, one when each is due, and nothing is counted', async () => {
      await admit('a', 'a', 'a', 'a');
      const all = (await at.item('1 = 1')).map((row) => Number(row.LaneOrdinal));
      const declared = limits({ source: hourly(1) });
      const started = ordinals(await at.claim(declared));
      for (let hour = 0; hour < 5; hour++) {
        await pass(HOUR_MS);
        started.push(...ordinals(await at.claim(declared)));
      }
      expect(started).toEqual(all);
      for (const row of await at.item('1 = 1')) expect(row).toMatchObject({ Attempt: 1, Failures: 0 });
    });

    it('[LIM-2] more items of a limited source than a claim scans do not starve the one behind them', async () => {
      for (let batch = 0; batch < 6; batch++) await admit(...Array.from({ length: 100 }, () => 'a'));
      await admit('b', 'c');
      const claimed = await at.claim({ ...limits({ source: hourly(1) }), maxClaims: 3 });
      expect(await names(claimed)).toEqual(['a', 'b', 'c']);
      expect(await inRange('ready:default')).toBe(0);
    });

    it('[LIM-1] [LIM-3] a concurrency of each source: the oldest of it follows as soon as one has ended', async () => {
      await admit('a', 'a', 'a', 'b', 'a', 'a');
      const declared = limits({ source: atOnce(2) });
      const running = [...(await at.claim(declared))];
      expect(await names(running)).toEqual(['a', 'a', 'b']);
      const order = ordinals(running.slice(0, 2));
      for (let ended = 0; ended < 3; ended++) {
        expect(await at.claim(declared)).toEqual([]);
        expect((await at.store.peek(claimRequest(at.pack))).ready).toBe(true);
        await at.finish(running.splice(0, 1));
        const next = await at.claim(declared);
        order.push(...ordinals(next));
        running.splice(1, 0, ...next);
      }
      expect(order).toEqual(order.toSorted((a, b) => a - b));
      expect(order).toHaveLength(5);
    });

    it('[LIM-2] a claim frees what its classes may have, however much of others is listed before', async () => {
      const rows = (queueClass: QueueClass, sources: readonly string[]): EventSketch[] =>
        sources.flatMap((source) => [
          { source, queueClass },
          { source, queueClass },
        ]);
      const bulk = Array.from({ length: 60 }, (_, n) => `bulk-${n}`);
      await admitEvents([...rows('bulk', bulk), ...rows('interactive', ['urgent'])]);
      const declared = limits({ source: hourly(1) });
      expect(await at.claim({ ...declared, maxClaims: 200 })).toHaveLength(61);
      await pass(HOUR_MS);
      const urgent = await at.claim({ ...declared, queueClasses: ['interactive'], maxClaims: 1 });
      expect(await names(urgent)).toEqual(['urgent']);
      expect(await inRange('ready:bulk')).toBe(0);
      expect(await at.claim({ ...declared, maxClaims: 200 })).toHaveLength(60);
    });

    it('[LIM-1] [DRN-2] an expired lease that may not start again frees its place, and waits in the queue', async () => {
      await admit('a', 'b', 'c');
      const declared = limits({ namespace: atOnce(2, { count: 3, burst: 3, perMs: HOUR_MS }) });
      expect(await at.claim(declared)).toHaveLength(2);
      await at.sql(`UPDATE ${ITEM} SET LeaseUntil = 1 WHERE PackId = ? AND State = 'processing'`, [
        at.pack.packId,
      ]);
      const taken = await at.claim({ ...declared, mode: 'stale' });
      expect(taken.map((item) => item.reclaimed)).toEqual([true]);
      expect(await inRange('processing')).toBe(1);
      expect(await at.item("State = 'pending' AND Failures = 1")).toMatchObject([
        { LastErrorCode: 'lease_expired' },
      ]);
      expect(await at.claim(declared)).toEqual([]);
      await pass(HOUR_MS / 3);
      expect((await at.claim(declared)).map((item) => item.failures)).toEqual([1]);
    });

    it('[LIM-1] [DRN-2] limited sources whose process died do not fill the processing budget', async () => {
      await admit('a', 'b', 'c');
      const declared = { ...limits({ source: hourly(1) }), processingBudget: 3 };
      expect(await at.claim(declared)).toHaveLength(3);
      await expire();
      await admit('d', 'e', 'f');
      expect(await names(await at.claim(declared))).toEqual(['d', 'e', 'f']);
    });

    it('[LIM-1] a concurrency counts what runs: leases that have run out hold no place, and are no place', async () => {
      const [other] = (await at.store.installPacks([
        { namespace: 'other', pack: at.pack.pack, version: '1.0.0' },
      ])) as [InstalledPack];
      await admit('a', 'b');
      const declared = limits({ pack: atOnce(2) });
      expect(await at.claim(declared)).toHaveLength(2);
      await expire();
      // Nobody takes them over there: the pack is paused.
      await at.store.setPackStatus(at.pack.packId, 'paused');
      const { packId, namespace } = other;
      const events = ['c', 'd', 'e'].map((source) => ({ source }));
      await at.store.materialize({ packId, namespace, receipts: [draftReceipt(other, { events })] });
      const theirs = await at.store.claim(claimRequest(other, declared));
      expect(theirs.items).toHaveLength(2);
      expect(theirs.limitedBy).toEqual(['pack']);
      await at.store.setPackStatus(at.pack.packId, 'active');
      expect(await at.claim(declared)).toEqual([]);
      expect(await inRange('processing')).toBe(0);
      await at.finish(theirs.items);
      expect(await at.claim(declared)).toHaveLength(2);
    });

    it('[OWN-5] [LIM-1] a lease that ran out is not renewed: its place may be taken', async () => {
      await admit('a');
      const [item] = await at.claim();
      await expire();
      expect(await at.store.renew([item!.lease], 60_000)).toEqual({
        renewed: [],
        lost: [item!.lease.workId],
      });
      expect(await at.finish([item!])).toMatchObject([{ lost: false, state: 'completed' }]);
    });

    it('[LIM-1] [EXE-6] what the claimer cannot run is left to others, and is no start', async () => {
      await at.admit(
        { routeVersion: 2, events: [{ source: 'new' }] },
        { route: 'later', events: [{ source: 'r' }] },
      );
      await admit('old');
      const declared = {
        ...limits({ namespace: hourly(1) }),
        runnable: { routes: { events: 1 }, isBehind: true },
      };
      expect(await names(await at.claim(declared))).toEqual(['old']);
      expect(await at.item('Attempt = 0')).toHaveLength(2);
      await at.sql(`UPDATE ${ITEM} SET RunAfter = 1 WHERE PackId = ?`, [at.pack.packId]);
      const known = { runnable: { routes: { events: 2, later: 1 }, isBehind: false } };
      expect(await names(await at.claim(known))).toEqual(['new', 'r']);
    });

    it('[LIM-1] [DRN-2] a takeover from a source at its concurrency; its rate still counts', async () => {
      await admit('a', 'a', 'b');
      const rate = { count: 3, burst: 3, perMs: HOUR_MS };
      const declared = limits({ source: atOnce(2, rate) });
      expect(await at.claim(declared)).toHaveLength(3);
      await at.sql(`UPDATE ${ITEM} SET LeaseUntil = 1 WHERE PackId = ? AND State = 'processing'`, [
        at.pack.packId,
      ]);
      const taken = await at.claim(declared);
      expect((await names(taken)).toSorted()).toEqual(['a', 'b']);
    });

    it('[LIM-1] a takeover uses the start that a listed item of its source would have had', async () => {
      await admit('a', 'a');
      const declared = limits({ source: hourly(1) });
      const [first] = await at.claim(declared);
      expect(await at.claim(declared)).toEqual([]);
      await at.sql(`UPDATE ${ITEM} SET LeaseUntil = 1 WHERE PackId = ? AND State = 'processing'`, [
        at.pack.packId,
      ]);
      await pass(HOUR_MS);
      expect(ordinals(await at.claim(declared))).toEqual([first!.laneOrdinal]);
      await pass(HOUR_MS);
      expect((await at.claim(declared)).map((item) => item.reclaimed)).toEqual([false]);
    });

    it('[LIM-3] a claim whose answer was lost and is repeated counts once', async () => {
      await admit('a', 'b', 'c', 'd');
      const request = claimRequest(at.pack, {
        ...limits({ namespace: hourly(4, 4), source: hourly(1) }),
        maxClaims: 2,
      });
      await at.store.claim(request);
      expect((await at.store.claim({ ...request, repeat: true })).items).toHaveLength(2);
      expect(await at.claim(limits({ namespace: hourly(4, 4) }))).toHaveLength(2);
    });

    it('[LIM-1] the item of one Event is claimed under the same limits', async () => {
      await admit('a', 'a');
      const [first, second] = (await at.item('1 = 1')).map((row) => String(row.EventId));
      const request = () => claimRequest(at.pack, limits({ source: hourly(1) }));
      expect((await at.store.claimForEvent(request(), first!)).items).toHaveLength(1);
      expect((await at.store.claimForEvent(request(), second!)).items).toEqual([]);
      const whole = () => claimRequest(at.pack, limits({ namespace: atOnce(1) }));
      await pass(HOUR_MS);
      expect((await at.store.claimForEvent(whole(), second!)).items).toEqual([]);
    });

    it('[LIM-3] what waits for a limit comes back by itself when the pack declares none any more', async () => {
      await admit('a', 'a', 'a');
      await at.claim(limits({ source: hourly(1) }));
      expect(await at.claim()).toEqual([]);
      await at.sql(`UPDATE ${ITEM} SET RunAfter = RunAfter - 600000 WHERE PackId = ?`, [at.pack.packId]);
      expect(await at.claim()).toHaveLength(2);
    });

    it('[LIM-3] one that came back by itself is listed again, once', async () => {
      await admit('a', 'a');
      const declared = limits({ source: hourly(1) });
      await at.claim(declared);
      await at.sql(`UPDATE ${ITEM} SET RunAfter = RunAfter - 600000 WHERE PackId = ?`, [at.pack.packId]);
      expect(await at.claim(declared)).toEqual([]);
      const [{ n }] = (await at.sql<{ n: number }>(
        `SELECT COUNT(*) AS n FROM ${LIMITED} WHERE WorkId IN
        (SELECT WorkId FROM ${ITEM} WHERE PackId = ?)`,
        [at.pack.packId],
      )) as [{ n: number }];
      expect(Number(n)).toBe(1);
      await pass(HOUR_MS);
      expect(await at.claim(declared)).toHaveLength(1);
    });

    it('[LIM-3] a listed item whose readiness mark was lost gets its turn as any other', async () => {
      await admit('a', 'a');
      const declared = limits({ source: hourly(1) });
      await at.claim(declared);
      await at.sql(`UPDATE ${ITEM} SET Readiness = 0 WHERE PackId = ? AND State = 'pending'`, [
        at.pack.packId,
      ]);
      await pass(HOUR_MS);
      expect(await at.claim(declared)).toHaveLength(1);
    });

    it('[LIM-3] more listed items than one look reads are all started, in their order', async () => {
      await admit(...Array.from({ length: 100 }, () => 'a'));
      await admit(...Array.from({ length: 100 }, () => 'a'));
      const all = (await at.item('1 = 1')).map((row) => Number(row.LaneOrdinal));
      const running = await at.claim(limits({ source: atOnce(1) }));
      await at.finish(running);
      const started = [...ordinals(running)];
      for (let claim = 0; claim < 4; claim++)
        started.push(...ordinals(await at.claim({ ...limits({ source: atOnce(500) }), maxClaims: 500 })));
      expect(started).toEqual(all.toSorted((a, b) => a - b));
    });

    it('[LIM-3] an item that ended otherwise while it waited takes nobody with it', async () => {
      await admit('a', 'a', 'a');
      const declared = limits({ source: atOnce(1) });
      const running = await at.claim(declared);
      const [, second] = await at.item('1 = 1');
      await at.sql(`UPDATE ${ITEM} SET State = 'skipped', TerminalDate = 1 WHERE WorkId = ?`, [
        second!.WorkId,
      ]);
      await recountByHand(at);
      await at.finish(running);
      const next = [...(await at.claim(declared)), ...(await at.claim(declared))];
      expect(next).toHaveLength(1);
    });

    it('[LIM-3] a source whose limit is whole again leaves no row behind', async () => {
      await admit('a', 'b', 'a');
      const declared = limits({ source: hourly(60) });
      await at.claim(declared);
      await pass(HOUR_MS);
      await at.claim(declared);
      await pass(HOUR_MS);
      await at.claim(declared);
      expect(await at.sql(`SELECT LimitKey FROM ${LIMIT} WHERE PackId = ?`, [at.pack.packId])).toEqual([]);
    });
  });
}
