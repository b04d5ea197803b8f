import { describe, expect, it } from 'vitest';
import type { WorkType } from '../../src/core/work.js';
import type { Engine } from './engine.js';
import { claimRequest, count, ITEM, useStore } from './fixture.js';

const soon = (ms: number) => Date.now() + ms;

export function claimCases(engine: Engine): void {
  describe('claim', () => {
    const at = useStore(engine);

    it('[OWN-2] exposes only the head of a lane, one item per lane in a batch', async () => {
      const lanes = Array.from({ length: 10 }, (_, i) => `lane-${i}`);
      await at.admit(
        ...lanes.flatMap((source) => Array.from({ length: 5 }, () => ({ events: [{ source }] }))),
      );
      const first = await at.claim();
      expect(new Set(first.map((item) => item.laneKey)).size).toBe(10);
      expect(first).toHaveLength(10);
      expect(await at.claim()).toEqual([]);
      await at.finish(first.slice(0, 3));
      const second = await at.claim();
      expect(second.map((item) => item.laneKey).sort()).toEqual(
        first
          .slice(0, 3)
          .map((item) => item.laneKey)
          .sort(),
      );
    });

    it('[OWN-2] drains each lane in the order of admission', async () => {
      await at.admit(
        { events: [{ source: 'a', payload: '1' }] },
        { events: [{ source: 'a', payload: '2' }] },
      );
      await at.admit({ events: [{ source: 'a', payload: '3' }] });
      const payloads: string[] = [];
      for (let i = 0; i < 3; i++) {
        const items = await at.claim();
        expect(items).toHaveLength(1);
        payloads.push(Buffer.from((await at.store.loadEvent(items[0]!.eventId))!.payload).toString());
        await at.finish(items);
      }
      expect(payloads).toEqual(['1', '2', '3']);
    });

    it('[OWN-1] decides by the final CAS, not by the hint: a false mark is a miss and is cleared', async () => {
      await at.admit({ events: [{ source: 'a' }] }, { events: [{ source: 'a' }] });
      await at.sql(`UPDATE ${ITEM} SET Readiness = 2 WHERE PackId = ?`, [at.pack.packId]);
      const running = await at.claim({ maxClaims: 1 });
      const result = await at.store.claim(claimRequest(at.pack));
      expect(result).toMatchObject({ items: [], misses: 1, processing: 1 });
      expect(await count(at, ITEM, "State = 'pending' AND Readiness = 0")).toBe(1);
      await at.finish(running);
      expect(await at.claim()).toHaveLength(1);
    });

    it('[OWN-1] a false mark behind a head that waits for its time is a miss too', async () => {
      await at.admit({ events: [{ source: 'a', runAfter: soon(3_600_000) }] }, { events: [{ source: 'a' }] });
      await at.sql(`UPDATE ${ITEM} SET Readiness = 2 WHERE PackId = ? AND Readiness = 0`, [at.pack.packId]);
      const result = await at.store.claim(claimRequest(at.pack));
      expect(result.items).toEqual([]);
      expect(await count(at, ITEM, "State = 'processing'")).toBe(0);
    });

    it('[OWN-2] the database itself refuses a second row in processing in a lane', async () => {
      await at.admit({ events: [{ source: 'a' }] }, { events: [{ source: 'a' }] });
      const [, second] = await at.item('1 = 1');
      await at.claim();
      await expect(
        at.sql(`UPDATE ${ITEM} SET State = 'processing' WHERE WorkId = ?`, [second!.WorkId]),
      ).rejects.toThrow(/UNIQUE|Duplicate/);
    });

    it('[OWN-1] checks incarnation and due time in the CAS itself', async () => {
      await at.admit({ events: [{ source: 'a' }] });
      await at.sql(`UPDATE ${ITEM} SET Generation = 9 WHERE PackId = ?`, [at.pack.packId]);
      expect(await at.claim()).toEqual([]);
      await at.sql(`UPDATE ${ITEM} SET Generation = 1, RunAfter = ? WHERE PackId = ?`, [
        soon(60_000),
        at.pack.packId,
      ]);
      expect(await at.claim()).toEqual([]);
      await at.sql(`UPDATE ${ITEM} SET RunAfter = 0 WHERE PackId = ?`, [at.pack.packId]);
      expect(await at.claim()).toHaveLength(1);
    });

    it('a new incarnation re-homes open items; an old one cannot take them back', async () => {
      await at.admit({ events: [{ source: 'a' }] }, { events: [{ source: 'a' }] });
      const [next] = await at.store.installPacks([{ ...at.pack, version: '2.0.0' }]);
      expect(next!.generation).toBe(2);
      const [older] = await at.store.installPacks([{ ...at.pack, version: '1.5.0' }]);
      expect(older).toMatchObject({ version: '2.0.0', generation: 2 });
      const items = await at.claim({ generation: 2 });
      expect(items).toMatchObject([{ generation: 2 }]);
      await at.finish(items, { kind: 'released', reason: 'test' });
      expect(await at.claim({ generation: 1 })).toEqual([]);
    });

    it('[OWN-3] reads readiness from the WorkItem alone: Event retry and claim fields take no part', async () => {
      await at.admit({ events: [{ source: 'a' }] });
      await at.sql(
        `UPDATE _System_ConnectorEvent SET NextRetryDate = ?, ClaimedDate = ?, Attempt = 7, Status = 'failed' WHERE PackId = ?`,
        [soon(60_000), soon(0), at.pack.packId],
      );
      expect(await at.claim()).toHaveLength(1);
    });

    it('[OWN-2] a delayed head makes its lane wait and no other, until it is due', async () => {
      await at.admit(
        { events: [{ source: 'a', runAfter: soon(3_600_000) }] },
        { events: [{ source: 'a' }] },
        { events: [{ source: 'b' }] },
      );
      const [only, ...more] = await at.claim();
      expect(more).toEqual([]);
      expect((await at.store.loadEvent(only!.eventId))!.sourceKey).toBe('b');
      const peeked = await at.store.peek(claimRequest(at.pack));
      expect(peeked.ready).toBe(false);
      expect(peeked.nextInMs).toBeGreaterThan(50_000);
      await at.sql(`UPDATE ${ITEM} SET RunAfter = 0 WHERE PackId = ?`, [at.pack.packId]);
      expect((await at.store.peek(claimRequest(at.pack))).ready).toBe(true);
      expect(await at.claim()).toHaveLength(1);
    });

    it('ordering none has no lane; strict also keeps the whole delivery in order, across sources', async () => {
      await at.admit({ ordering: 'none', events: [{ source: 'a' }, { source: 'a' }, { source: 'a' }] });
      expect(await at.claim()).toHaveLength(3);
      await at.admit({ ordering: 'strict', delivery: 'd', events: [{ source: 'x' }, { source: 'y' }] });
      const first = await at.claim();
      expect(first).toHaveLength(1);
      expect(await at.claim()).toEqual([]);
      await at.finish(first);
      expect(await at.claim()).toHaveLength(1);
    });

    it('[NGO-2] a lane of a mutation target orders items of different sources', async () => {
      await at.admit(
        { events: [{ source: 'a', target: 'contact-1' }] },
        { events: [{ source: 'b', target: 'contact-1' }] },
        { events: [{ source: 'c', target: 'contact-2' }] },
      );
      const first = await at.claim();
      const sources = await Promise.all(
        first.map(async (item) => (await at.store.loadEvent(item.eventId))!.sourceKey),
      );
      expect(sources).toEqual(['a', 'c']);
    });

    it('an item that waits in two lanes runs when the last of them lets it go, whichever that is', async () => {
      await at.admit(
        { ordering: 'source', events: [{ source: 's1' }] },
        { ordering: 'source', events: [{ source: 's2', target: 't' }] },
        { ordering: 'source', events: [{ source: 's1', target: 't' }] },
      );
      const first = await at.claim();
      expect(first).toHaveLength(2);
      await at.finish(first.slice(0, 1));
      expect(await at.claim()).toEqual([]);
      await at.finish(first.slice(1));
      expect(await at.claim()).toHaveLength(1);
    });

    it('[OWN-5] issues a fresh token and a higher epoch at every claim; Attempt only rises', async () => {
      await at.admit({});
      const [one] = await at.claim();
      await at.finish([one!], { kind: 'released', reason: 'test' });
      const [two] = await at.claim();
      expect(two!.lease.token).not.toBe(one!.lease.token);
      expect(two!.lease.epoch).toBe(one!.lease.epoch + 1);
      expect([one!.attempt, two!.attempt]).toEqual([1, 2]);
      expect(two!.failures).toBe(0);
    });

    it('[TRM-2] [DRN-1] [DRN-2] never has more rows in processing than the budget, whoever asks for how many', async () => {
      await at.admit(...Array.from({ length: 30 }, (_, i) => ({ events: [{ source: `s${i}` }] })));
      const results = await Promise.all(
        Array.from({ length: 6 }, () =>
          at.store.claim(claimRequest(at.pack, { maxClaims: 7, processingBudget: 10 })),
        ),
      );
      expect(results.flatMap((result) => result.items)).toHaveLength(10);
      expect(await count(at, ITEM, "State = 'processing'")).toBe(10);
      const [one] = results.flatMap((result) => result.items);
      await at.finish([one!]);
      expect(await at.claim({ processingBudget: 10 })).toHaveLength(1);
    });

    it('[DRN-2] rows of a dead holder stay counted, whatever the class, and a takeover adds none', async () => {
      const classes = ['bulk', 'bulk', 'interactive', 'interactive'] as const;
      await at.admit({ ordering: 'none', events: classes.map((queueClass) => ({ queueClass })) });
      await at.claim({ queueClasses: ['bulk'], processingBudget: 2 });
      await at.sql(`UPDATE ${ITEM} SET LeaseUntil = 1 WHERE PackId = ? AND State = 'processing'`, [
        at.pack.packId,
      ]);
      const urgent = claimRequest(at.pack, { queueClasses: ['interactive'], processingBudget: 2 });
      expect(await at.store.claim(urgent)).toMatchObject({ items: [], processing: 2, staleProcessing: 2 });
      const taken = await at.claim({ processingBudget: 2, maxClaims: 1 });
      expect(taken.map((item) => item.reclaimed)).toEqual([true]);
      expect(await count(at, ITEM, "State = 'processing'")).toBe(2);
      // One more place: beside a takeover, which needs none, it is there for fresh work.
      const both = await at.claim({ processingBudget: 3 });
      expect(both.map((item) => item.reclaimed)).toEqual([true, false]);
    });

    it('[SVC-1] [SVC-3] claims only the work types in scope; empty means both inbound ones, never all', async () => {
      await at.admit(...Array.from({ length: 3 }, (_, i) => ({ events: [{ source: `s${i}` }] })));
      const rows = await at.item('1 = 1');
      const types = ['workflow_action_apply', 'unrelated_sync', 'connector_event'];
      for (const [i, type] of types.entries()) {
        await at.sql(`UPDATE ${ITEM} SET WorkType = ? WHERE WorkId = ?`, [type, rows[i]!.WorkId]);
      }
      expect(await at.claim({ claimWorkTypes: ['workflow_action_apply'] })).toMatchObject([
        { workType: 'workflow_action_apply' },
      ]);
      await at.sql(
        `UPDATE ${ITEM} SET State = 'pending', Readiness = 2, LeaseUntil = NULL WHERE WorkId = ?`,
        [rows[0]!.WorkId],
      );
      const both = await at.claim({ claimWorkTypes: [] });
      expect(both.map((item) => item.workType).sort()).toEqual(['connector_event', 'workflow_action_apply']);
      const unknown = 'unrelated_sync' as WorkType;
      await expect(at.claim({ claimWorkTypes: [unknown] })).rejects.toThrow('unrelated_sync');
      await expect(at.store.peek(claimRequest(at.pack, { claimWorkTypes: [unknown] }))).rejects.toThrow();
      expect(at.store.honorsClaimWorkTypes()).toBe(true);
    });

    it('[SVC-1] applies the scope before the candidate limit', async () => {
      await at.admit(...Array.from({ length: 300 }, (_, i) => ({ events: [{ source: `s${i}` }] })));
      await at.sql(`UPDATE ${ITEM} SET WorkType = 'workflow_action_apply' WHERE PackId = ?`, [
        at.pack.packId,
      ]);
      await at.admit({ events: [{ source: 'last' }] });
      const request = claimRequest(at.pack, { claimWorkTypes: ['connector_event'], maxClaims: 1 });
      expect(await at.store.claim(request)).toMatchObject({ items: [{}], misses: 0 });
    });

    it('[TRM-5] a claim scoped to a set of queue classes takes nothing else, preferred classes first', async () => {
      await at.admit(
        { events: [{ source: 'a', queueClass: 'bulk' }] },
        { events: [{ source: 'b', queueClass: 'bulk' }] },
        { events: [{ source: 'c', queueClass: 'interactive' }] },
      );
      expect(await at.claim({ queueClasses: ['default'] })).toEqual([]);
      const [preferred] = await at.claim({ preference: ['interactive'], maxClaims: 1 });
      expect(preferred!.queueClass).toBe('interactive');
      const [oldest] = await at.claim({ maxClaims: 1 });
      expect(oldest!.queueClass).toBe('bulk');
    });

    it('[TRM-5] [QCL-1] a takeover and a claim for one Event keep to the classes too', async () => {
      await at.admit({ events: [{ source: 'a', queueClass: 'bulk' }] });
      const [item] = await at.claim();
      const latency = claimRequest(at.pack, { queueClasses: ['interactive', 'default'] });
      const bulk = claimRequest(at.pack, { queueClasses: ['bulk'] });
      await at.sql(`UPDATE ${ITEM} SET LeaseUntil = 1 WHERE PackId = ?`, [at.pack.packId]);
      expect(await at.store.reclaimStale(latency)).toMatchObject({
        items: [],
        expired: 0,
        staleProcessing: 1,
      });
      const [again] = (await at.store.reclaimStale(bulk)).items;
      expect(again).toMatchObject({ reclaimed: true, attempt: 2 });
      await at.finish([again!], { kind: 'released', reason: 'test' });
      expect((await at.store.claimForEvent(latency, item!.eventId)).items).toEqual([]);
      expect((await at.store.claimForEvent(bulk, item!.eventId)).items).toHaveLength(1);
    });

    it('[SVC-2] claims the item of one Event, under the same predicates', async () => {
      await at.admit(
        { events: [{ source: 'a' }] },
        { events: [{ source: 'a' }] },
        { events: [{ source: 'b' }] },
      );
      const rows = await at.item('1 = 1');
      const claimFor = (i: number) => at.store.claimForEvent(claimRequest(at.pack), String(rows[i]!.EventId));
      expect((await claimFor(1)).items).toEqual([]);
      expect((await claimFor(2)).items.map((item) => item.eventId)).toEqual([rows[2]!.EventId]);
      expect((await claimFor(0)).items).toHaveLength(1);
      expect((await claimFor(0)).items).toEqual([]);
    });

    it('[SVC-2] resolves the active incarnation; a paused pack has none and claims nothing', async () => {
      await at.admit({});
      expect(await at.store.resolveActiveGeneration(at.pack.packId)).toBe(1);
      await at.store.setPackStatus(at.pack.packId, 'paused');
      expect(await at.store.resolveActiveGeneration(at.pack.packId)).toBeNull();
      expect(await at.claim()).toEqual([]);
      await at.store.setPackStatus(at.pack.packId, 'active');
      expect(await at.claim()).toHaveLength(1);
    });

    it('reclaims a stale lease as a failure, under a new token; the budget does not move', async () => {
      await at.admit({ events: [{ source: 'a', budget: 3 }] }, { events: [{ source: 'b' }] });
      const [held] = await at.claim({ maxClaims: 1 });
      await at.sql(`UPDATE ${ITEM} SET LeaseUntil = 1 WHERE WorkId = ?`, [held!.lease.workId]);
      const result = await at.store.claim(claimRequest(at.pack, { processingBudget: 1 }));
      expect(result.items).toMatchObject([
        { reclaimed: true, failures: 1, attempt: 2, eventId: held!.eventId },
      ]);
      expect(result.processing).toBe(1);
      expect(await at.finish([held!])).toEqual([{ workId: held!.lease.workId, lost: true }]);
      expect(await at.finish(result.items)).toMatchObject([{ state: 'completed' }]);
    });

    it('[EXE-4] an event that kills its process every time ends dead, and its lane goes on', async () => {
      await at.admit({ events: [{ source: 'a', budget: 3 }] }, { events: [{ source: 'a' }] });
      for (let run = 1; run <= 3; run++) {
        const items = await at.claim({ maxClaims: 1 });
        expect(items).toMatchObject([{ attempt: run, failures: run - 1 }]);
        await at.sql(`UPDATE ${ITEM} SET LeaseUntil = 1 WHERE State = 'processing' AND PackId = ?`, [
          at.pack.packId,
        ]);
      }
      const last = await at.store.claim(claimRequest(at.pack));
      expect(last).toMatchObject({ expired: 1, processing: 1 });
      expect(await at.item("State = 'dead'")).toMatchObject([
        { LastErrorCode: 'lease_expired', Failures: 3 },
      ]);
      expect(last.items).toMatchObject([{ attempt: 1 }]);
    });

    it('stale-only reclaims and never falls back to fresh work', async () => {
      await at.admit(
        { events: [{ source: 'a' }] },
        { events: [{ source: 'b' }] },
        { events: [{ source: 'c' }] },
      );
      const held = await at.claim({ maxClaims: 2 });
      await at.sql(`UPDATE ${ITEM} SET LeaseUntil = 1 WHERE WorkId = ?`, [held[0]!.lease.workId]);
      await at.sql(`UPDATE ${ITEM} SET LeaseUntil = 2 WHERE WorkId = ?`, [held[1]!.lease.workId]);
      const result = await at.store.reclaimStale(claimRequest(at.pack));
      expect(result.items.map((item) => item.eventId)).toEqual(held.map((item) => item.eventId));
      expect((await at.store.reclaimStale(claimRequest(at.pack))).items).toEqual([]);
    });

    it('[OWN-5] renews only what is still held', async () => {
      await at.admit(
        { events: [{ source: 'a' }] },
        { events: [{ source: 'b' }] },
        { events: [{ source: 'c' }] },
      );
      const held = await at.claim({ leaseMs: 5_000 });
      await at.sql(`UPDATE ${ITEM} SET OwnershipEpoch = 9 WHERE WorkId = ?`, [held[1]!.lease.workId]);
      await at.finish([held[2]!]);
      const result = await at.store.renew(
        held.map((item) => item.lease),
        120_000,
      );
      expect(result.lost.toSorted()).toEqual([held[1]!.lease.workId, held[2]!.lease.workId].toSorted());
      expect(result.renewed).toHaveLength(1);
      expect(result.renewed[0]!.untilMs).toBeGreaterThan(held[0]!.lease.untilMs + 60_000);
    });

    it('repairs heads that carry no mark, in bounded steps', async () => {
      await at.admit(...Array.from({ length: 6 }, (_, i) => ({ events: [{ source: `s${i % 3}` }] })));
      await at.sql(`UPDATE ${ITEM} SET Readiness = 0 WHERE PackId = ?`, [at.pack.packId]);
      expect(await at.claim()).toEqual([]);
      const step = await at.store.repairReadiness(at.pack.packId, null);
      expect(step.repaired).toBe(3);
      expect(await at.store.repairReadiness(at.pack.packId, step.cursor)).toEqual({
        repaired: 0,
        cursor: null,
      });
      expect(await at.claim()).toHaveLength(3);
    });
  });
}
