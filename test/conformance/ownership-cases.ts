import { describe, expect, it } from 'vitest';
import type { Engine } from './engine.js';
import { claimRequest, count, EVENT, ITEM, recountByHand, useStore } from './fixture.js';

const EXECUTOR_FIELDS =
  'Status, Attempt, NextRetryDate, ClaimToken, ClaimedBy, ClaimedDate, ProcessedDate, LastError, ReplayedAt, ExecutionOwner';

export function ownershipCases(engine: Engine): void {
  describe('execution ownership', () => {
    const at = useStore(engine);
    const fields = () =>
      at.sql(`SELECT ${EXECUTOR_FIELDS} FROM ${EVENT} WHERE PackId = ? ORDER BY SourceKey`, [at.pack.packId]);
    const payloads = () =>
      at.sql(`SELECT EventId, Payload FROM ${EVENT} WHERE PackId = ? ORDER BY EventId`, [at.pack.packId]);

    it('[EVO-1] an Event begins as the property of the Event side', async () => {
      await at.admit({});
      expect(await fields()).toMatchObject([{ ExecutionOwner: 'event', Status: 'pending' }]);
    });

    it('[EVO-2] [EVO-3] the first claim moves lease and owner in one commit, for pending and failed Events', async () => {
      await at.admit({ events: [{ source: 'a' }] }, { events: [{ source: 'b' }] });
      await at.sql(
        `UPDATE ${EVENT} SET Status = 'failed', Attempt = 2, LastError = 'older' WHERE PackId = ? AND SourceKey = 'b'`,
        [at.pack.packId],
      );
      expect(await at.claim()).toHaveLength(2);
      expect(await fields()).toMatchObject([
        { ExecutionOwner: 'work_item', Status: 'skipped', Attempt: 0 },
        { ExecutionOwner: 'work_item', Status: 'skipped', Attempt: 2, LastError: 'older' },
      ]);
    });

    it('[EVO-2] a miss on the Event side takes only its own item out of the batch', async () => {
      await at.admit(...['a', 'b', 'c'].map((source) => ({ events: [{ source }] })));
      await at.sql(`UPDATE ${EVENT} SET Status = 'processing' WHERE PackId = ? AND SourceKey = 'b'`, [
        at.pack.packId,
      ]);
      const result = await at.store.claim(claimRequest(at.pack));
      expect(result.items).toHaveLength(2);
      expect(result.misses).toBe(1);
      expect(await count(at, ITEM, "State = 'processing'")).toBe(2);
      expect(await count(at, EVENT, "Status = 'processing' AND ExecutionOwner = 'event'")).toBe(1);
    });

    it('[EVO-10] an Event that the other side owns or ended is never claimed', async () => {
      const states = ['processing', 'processed', 'dead', 'skipped'];
      await at.admit(...states.map((source) => ({ events: [{ source }] })));
      for (const state of states) {
        await at.sql(`UPDATE ${EVENT} SET Status = ? WHERE PackId = ? AND SourceKey = ?`, [
          state,
          at.pack.packId,
          state,
        ]);
      }
      expect(await at.claim()).toEqual([]);
      expect(await count(at, ITEM, "State = 'pending' AND Attempt = 0")).toBe(4);
    });

    it('[EVO-10] more items of legacy leases than a claim scans do not starve the one behind them', async () => {
      await at.admit(...Array.from({ length: 2_100 }, (_, i) => ({ events: [{ source: `s${i}` }] })));
      await at.sql(`UPDATE ${EVENT} SET Status = 'processing' WHERE PackId = ?`, [at.pack.packId]);
      await at.admit({ events: [{ source: 'free' }] });
      const claims = [await at.claim({ maxClaims: 1 }), await at.claim({ maxClaims: 1 })];
      expect(claims.flat()).toHaveLength(1);
      expect(await count(at, ITEM, "State = 'pending' AND Readiness = 2")).toBe(0);
    });

    it('[OWN-3] an item that only looks due waits for its time outside of what is scanned', async () => {
      await at.admit({ events: [{ source: 'early' }] });
      await at.sql(`UPDATE ${ITEM} SET RunAfter = RunAfter + 3600000 WHERE PackId = ?`, [at.pack.packId]);
      expect(await at.claim()).toEqual([]);
      expect(await count(at, ITEM, "State = 'pending' AND Readiness = 1")).toBe(1);
    });

    it('[EVO-10] an item whose Event is gone is claimed, so that its run can say so', async () => {
      await at.admit({});
      await at.sql(`DELETE FROM ${EVENT} WHERE PackId = ?`, [at.pack.packId]);
      const [item] = await at.claim();
      expect(await at.store.loadEvents([item!.eventId])).toEqual([null]);
    });

    it('[OWN-5] a repeated claim takes what it claimed unseen, under a renewed lease and the same epoch', async () => {
      await at.admit({ events: [{ source: 'a' }] }, { events: [{ source: 'b' }] });
      const request = claimRequest(at.pack, { maxClaims: 1, leaseMs: 1_000 });
      const [unseen] = (await at.store.claim(request)).items;
      const { items, processing } = await at.store.claim({ ...request, repeat: true, leaseMs: 90_000 });
      expect(items).toHaveLength(1);
      expect(processing).toBe(1);
      expect(items[0]).toMatchObject({ attempt: 1, failures: 0, eventId: unseen!.eventId });
      expect(items[0]!.lease).toMatchObject({ token: request.token, epoch: unseen!.lease.epoch });
      expect(items[0]!.lease.untilMs).toBeGreaterThan(unseen!.lease.untilMs + 60_000);
      expect(await at.finish(items)).toMatchObject([{ lost: false, state: 'completed' }]);
    });

    it('[OWN-5] a repeated claim takes what it claimed unseen also when the pack was paused meanwhile, and nothing more', async () => {
      await at.admit({ events: [{ source: 'a' }] }, { events: [{ source: 'b' }] });
      const request = claimRequest(at.pack, { maxClaims: 1 });
      const [unseen] = (await at.store.claim(request)).items;
      await at.store.setPackStatus(at.pack.packId, 'paused');
      const { items } = await at.store.claim({ ...request, repeat: true, maxClaims: 5 });
      expect(items.map(({ eventId }) => eventId)).toEqual([unseen!.eventId]);
      const released = { kind: 'released', reason: 'paused' } as const;
      expect(await at.finish(items, released)).toMatchObject([
        { lost: false, state: 'pending', failures: 0 },
      ]);
      await at.store.setPackStatus(at.pack.packId, 'active');
    });

    it('[OWN-5] a repeated claim that takes longer than a lease does not take over what it has just taken', async () => {
      await at.admit({ events: [{ source: 'a' }] }, { events: [{ source: 'b' }] });
      const request = claimRequest(at.pack, { maxClaims: 1 });
      await at.store.claim(request);
      // A lease that is over before the statement after its renewal.
      const { items, expired } = await at.store.claim({
        ...request,
        repeat: true,
        leaseMs: -1_000,
        maxClaims: 5,
      });
      expect(expired).toBe(0);
      expect(items.map(({ lease, failures }) => [lease.epoch, failures])).toEqual([
        [1, 0],
        [1, 0],
      ]);
    });

    it('[EVO-6] [EVO-9] later retries accept the frozen pair and change no executor field and no payload', async () => {
      await at.admit({}, { events: [{ source: 'b' }] });
      const before = await payloads();
      let items = await at.claim();
      const frozen = await fields();
      for (let run = 0; run < 3; run++) {
        await at.finish(items, { kind: 'failed', error: { code: 'x', message: 'x' }, delayMs: 0 });
        items = await at.claim();
        expect(items).toHaveLength(2);
        expect(await fields()).toEqual(frozen);
      }
      await at.finish(items);
      expect(await fields()).toEqual(frozen);
      expect(await payloads()).toEqual(before);
    });

    it('[EVO-6] refuses an owner without its fence', async () => {
      await at.admit({});
      await at.sql(`UPDATE ${EVENT} SET ExecutionOwner = 'work_item', Status = 'pending' WHERE PackId = ?`, [
        at.pack.packId,
      ]);
      expect(await at.claim()).toEqual([]);
    });

    it('[EVO-6] a second work type on the same Event meets the frozen pair at its first claim', async () => {
      await at.admit({});
      await at.finish(await at.claim());
      const [row] = await at.item('1 = 1');
      const columns =
        'PackId, Generation, EventId, Route, RouteVersion, QueueClass, IdempotencyKey, RunAfter, CreatedDate';
      await at.sql(
        `INSERT INTO ${ITEM} (WorkId, WorkType, LaneOrdinal, Readiness, ${columns})
         SELECT 'wrk_second', 'workflow_action_apply', 5, 2, ${columns} FROM ${ITEM} WHERE WorkId = ?`,
        [row!.WorkId],
      );
      const items = await at.claim();
      expect(items).toMatchObject([{ workType: 'workflow_action_apply', attempt: 1 }]);
      await at.finish(items);
      await at.sql(`DELETE FROM ${ITEM} WHERE WorkId = 'wrk_second'`);
      await recountByHand(at);
    });
  });
}
