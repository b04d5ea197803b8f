import { describe, expect, it } from 'vitest';
import { sha256 } from '../../src/core/identity.js';
import { draftReceipt } from '../support/drafts.js';
import type { Engine } from './engine.js';
import { count, EVENT, ITEM, KEY, RECEIPT, useStore } from './fixture.js';

export function materializeCases(engine: Engine): void {
  describe('materialize', () => {
    const at = useStore(engine);

    it('[MAT-1] [ADM-1] stores a receipt, its Events and WorkItems in one commit', async () => {
      const [result] = await at.admit({ events: [{ source: 'a' }, { source: 'b' }] });
      expect(result).toMatchObject({ events: 2, duplicate: false, conflict: false, quarantined: false });
      expect(await count(at, RECEIPT)).toBe(1);
      expect(await count(at, EVENT, "Status = 'pending' AND ExecutionOwner = 'event'")).toBe(2);
      expect(await count(at, ITEM, "State = 'pending' AND Readiness = 2")).toBe(2);
      const stored = await at.store.loadReceipt(result!.receiptId);
      expect(Buffer.from(stored!.body).toString()).toContain('delivery-');
    });

    it('[MAT-1] rises LaneOrdinal in commit order, above the reserved range of history', async () => {
      await at.admit({ events: [{ source: 'a' }] }, { events: [{ source: 'b' }] });
      await at.admit({ events: [{ source: 'a' }] });
      const ordinals = (await at.item('1 = 1')).map((row) => Number(row.LaneOrdinal));
      expect(ordinals).toEqual([2 ** 40, 2 ** 40 + 1, 2 ** 40 + 2]);
    });

    it('[MAT-1] concurrent groups are serialized by the authority locks: no ordinal is given twice', async () => {
      await Promise.all(
        Array.from({ length: 8 }, (_, i) => at.admit({ events: [{ source: `a${i}` }, { source: `b${i}` }] })),
      );
      const ordinals = (await at.item('1 = 1')).map((row) => Number(row.LaneOrdinal));
      expect(ordinals).toEqual(Array.from({ length: 16 }, (_, i) => 2 ** 40 + i));
    });

    it('answers a redelivery of the same bytes with the first receipt, and counts it', async () => {
      const [first] = await at.admit({ delivery: 'd1', body: 'same' });
      const [again] = await at.admit({ delivery: 'd1', body: 'same' });
      const [third] = await at.admit({ delivery: 'd1', body: 'same' });
      expect(again).toEqual({ ...first, duplicate: true });
      expect(third!.receiptId).toBe(first!.receiptId);
      expect([await count(at, RECEIPT), await count(at, EVENT), await count(at, ITEM)]).toEqual([1, 1, 1]);
      expect(await count(at, KEY, 'Duplicates = 2')).toBe(1);
    });

    it('resolves the same delivery twice in one group to one Event', async () => {
      const results = await at.admit({ delivery: 'd1', body: 'same' }, { delivery: 'd1', body: 'same' });
      expect(results.map((result) => result.duplicate)).toEqual([false, true]);
      expect(results[1]!.receiptId).toBe(results[0]!.receiptId);
      expect([await count(at, RECEIPT), await count(at, EVENT)]).toEqual([1, 1]);
    });

    it('[MAT-1] [OWN-2] what comes twice in one group keeps its place: it is no history, and overtakes nobody', async () => {
      await at.admit({ events: [{ source: 'a', payload: 'older' }] });
      await at.admit(
        ...Array.from({ length: 2 }, () => ({ delivery: 'd1', events: [{ source: 'a', payload: 'newer' }] })),
      );
      const ordinals = (await at.item('1 = 1')).map((row) => Number(row.LaneOrdinal));
      expect(ordinals).toEqual([2 ** 40, 2 ** 40 + 1]);
      const [first] = await at.claim();
      expect(Buffer.from((await at.store.loadEvent(first!.eventId))!.payload).toString()).toBe('older');
    });

    it('recognizes its own receipt when the answer to the COMMIT was lost', async () => {
      const { packId, namespace } = at.pack;
      const receipts = [draftReceipt(at.pack, { delivery: 'd1' })];
      const first = await at.store.materialize({ packId, namespace, receipts });
      const again = await at.store.materialize({ packId, namespace, receipts });
      expect(again).toEqual(first);
      expect([await count(at, RECEIPT), await count(at, EVENT), await count(at, ITEM)]).toEqual([1, 1, 1]);
      expect(await count(at, KEY, 'Duplicates = 0')).toBe(1);
    });

    it('[ADM-1] recognizes its own receipt in quarantine when the answer to the COMMIT was lost', async () => {
      const { packId, namespace } = at.pack;
      const quarantine = { code: 'materialize_failed', message: 'no such field' };
      const receipts = [draftReceipt(at.pack, { delivery: 'd1', quarantine })];
      const first = await at.store.materialize({ packId, namespace, receipts });
      const again = await at.store.materialize({ packId, namespace, receipts });
      expect(first).toMatchObject([{ duplicate: false, quarantined: true }]);
      expect(again).toEqual(first);
      expect([await count(at, RECEIPT), await count(at, KEY, 'Duplicates = 0')]).toEqual([1, 1]);
    });

    it('[ADM-1] a delivery of known and new events is stored with what is new, under its own receipt', async () => {
      const known = { key: 'k1', source: 'a', payload: 'one' };
      const [first] = await at.admit({ body: 'first', events: [known] });
      const body = 'second';
      const [second] = await at.admit({ body, events: [known, { key: 'k2', source: 'b' }] });
      expect(second).toMatchObject({ duplicate: false, conflict: false, events: 2 });
      expect(second!.receiptId).not.toBe(first!.receiptId);
      expect(
        await at.sql(`SELECT ReceiptId FROM ${RECEIPT} WHERE PackId = ?`, [at.pack.packId]),
      ).toHaveLength(2);
      const items = await at.claim();
      const events = await at.store.loadEvents(items.map((item) => item.eventId));
      const ran = events.map((event) => [event!.receiptId, Buffer.from(event!.payload).toString()]);
      expect(ran.sort()).toEqual(
        [
          [first!.receiptId, 'one'],
          [second!.receiptId, body],
        ].sort(),
      );
    });

    it('keeps other bytes under a known key apart and flagged, and does not run them (hold)', async () => {
      const [first] = await at.admit({ delivery: 'd1', body: 'one' });
      const [other] = await at.admit({ delivery: 'd1', body: 'two' });
      expect(other).toMatchObject({ duplicate: false, conflict: true });
      expect(other!.receiptId).not.toBe(first!.receiptId);
      expect(await count(at, EVENT, 'ConflictOf IS NOT NULL')).toBe(1);
      expect(await count(at, ITEM, "State = 'skipped' AND LastErrorCode = 'conflict_held'")).toBe(1);
      expect(await at.drain()).toHaveLength(1);
      const [again] = await at.admit({ delivery: 'd1', body: 'two' });
      expect(again).toMatchObject({ receiptId: other!.receiptId, duplicate: true, conflict: true });
    });

    it('[LEG-7] fences the Event of an item that ends without a claim', async () => {
      await at.admit({ delivery: 'd1', body: 'one' });
      await at.admit({ delivery: 'd1', body: 'two' });
      expect(
        await count(
          at,
          EVENT,
          "ConflictOf IS NOT NULL AND ExecutionOwner = 'work_item' AND Status = 'skipped'",
        ),
      ).toBe(1);
    });

    it('runs other bytes under a known key as an Event of its own (separate)', async () => {
      await at.admit({ delivery: 'd1', body: 'one', onConflict: 'separate' });
      await at.admit({ delivery: 'd1', body: 'two', onConflict: 'separate' });
      expect(await at.drain()).toHaveLength(2);
    });

    it('[MAT-5] keeps one conflict to its row: the rest of the group commits', async () => {
      await at.admit({ delivery: 'd3', body: 'first' });
      const results = await at.admit(
        ...['d1', 'd2', 'd3', 'd4', 'd5', 'd6', 'd7'].map((delivery) => ({
          delivery,
          body: `body ${delivery}`,
        })),
      );
      expect(results.map((result) => result.conflict)).toEqual([
        false,
        false,
        true,
        false,
        false,
        false,
        false,
      ]);
      expect([await count(at, EVENT), await count(at, KEY), await count(at, ITEM)]).toEqual([8, 8, 8]);
    });

    it('tells namespaces, packs and routes apart', async () => {
      const packs = await at.store.installPacks([
        { namespace: 'acme', pack: 'scoped', version: '1.0.0' },
        { namespace: 'globex', pack: 'scoped', version: '1.0.0' },
      ]);
      const answers: { duplicate: boolean }[] = [];
      for (const pack of packs) {
        for (const route of ['events', 'other']) {
          const receipts = [draftReceipt(pack, { delivery: 'd1', body: 'same', route })];
          const { packId, namespace } = pack;
          const results = await at.store.materialize({ packId, namespace, receipts });
          if (!('refused' in results)) answers.push(...results);
        }
      }
      expect(answers.map((answer) => answer.duplicate)).toEqual([false, false, false, false]);
    });

    it('still knows a key whose rows were pruned', async () => {
      const [first] = await at.admit({ delivery: 'd1', body: 'same' });
      for (const table of [ITEM, EVENT, RECEIPT]) {
        await at.sql(`DELETE FROM ${table} WHERE PackId = ?`, [at.pack.packId]);
      }
      const [again] = await at.admit({ delivery: 'd1', body: 'same' });
      expect(again).toMatchObject({ receiptId: first!.receiptId, duplicate: true });
      expect(await count(at, EVENT)).toBe(0);
    });

    it('repairs a missing WorkItem before it answers a duplicate, with an ordinal from the reserved range', async () => {
      await at.admit({ delivery: 'd1', body: 'same', events: [{ source: 'a' }] });
      await at.admit({ delivery: 'd2', events: [{ source: 'a' }] });
      await at.sql(`DELETE FROM ${ITEM} WHERE PackId = ? AND LaneOrdinal = ?`, [at.pack.packId, 2 ** 40]);
      const [again] = await at.admit({ delivery: 'd1', body: 'same', events: [{ source: 'a' }] });
      expect(again!.duplicate).toBe(true);
      const rows = await at.item('1 = 1');
      expect(rows.map((row) => Number(row.LaneOrdinal))).toEqual([1, 2 ** 40 + 1]);
      // History runs first, although its neighbour was marked ready before.
      const [next] = await at.claim();
      expect(next!.laneOrdinal).toBe(1);
    });

    it('finds an Event that an older writer stored without a key', async () => {
      await at.admit({ delivery: 'd1', body: 'same' });
      const { packId } = at.pack;
      await at.sql(`DELETE FROM ${KEY} WHERE PackId = ?`, [packId]);
      await at.sql(`DELETE FROM ${ITEM} WHERE PackId = ?`, [packId]);
      await at.sql(`UPDATE ${EVENT} SET ContentHash = NULL, ReceiptId = NULL WHERE PackId = ?`, [packId]);
      const [again] = await at.admit({ delivery: 'd1', body: 'same' });
      expect(again).toMatchObject({ duplicate: true, conflict: false });
      expect([await count(at, EVENT), await count(at, ITEM)]).toEqual([1, 1]);
    });

    it('stores a request without events once, by its bytes', async () => {
      const [first] = await at.admit({ body: 'ping', events: [] });
      const [again] = await at.admit({ body: 'ping', events: [] });
      expect(first).toMatchObject({ events: 0, duplicate: false });
      expect(again).toEqual({ ...first, duplicate: true });
    });

    it('quarantines a receipt and materializes it again after a fix', async () => {
      const quarantine = { code: 'materialize_failed', message: 'no such field' };
      const sketch = { delivery: 'd1', body: 'broken' };
      const [held] = await at.admit({ ...sketch, quarantine });
      expect(held).toMatchObject({ events: 0, quarantined: true });
      const listed = await at.store.listReceipts({ status: 'quarantined', pack: at.pack.pack, limit: 10 });
      expect(listed.items).toMatchObject([{ id: held!.receiptId, error: quarantine }]);
      const fixed = { ...draftReceipt(at.pack, sketch), receiptId: held!.receiptId };
      const { packId, namespace } = at.pack;
      const [done] = (await at.store.rematerialize({
        packId,
        namespace,
        receipts: [fixed],
      })) as readonly object[];
      expect(done).toMatchObject({ receiptId: held!.receiptId, events: 1, quarantined: false });
      expect(await at.drain()).toHaveLength(1);
      await expect(at.store.rematerialize({ packId, namespace, receipts: [fixed] })).rejects.toMatchObject({
        code: 'invalid_argument',
      });
    });

    it('[ADM-1] two receipts in quarantine that come to one event leave it both, the second as a duplicate', async () => {
      const quarantine = { code: 'materialize_failed', message: 'no such field' };
      const sketches = ['first', 'second'].map((body) => ({
        ...{ delivery: 'd1', body },
        events: [{ payload: 'the same' }],
      }));
      const held = await at.admit(...sketches.map((sketch) => ({ ...sketch, quarantine })));
      const { packId, namespace } = at.pack;
      const receipts = sketches.map((sketch, i) => ({
        ...draftReceipt(at.pack, sketch),
        receiptId: held[i]!.receiptId,
      }));
      for (const [i, receipt] of receipts.entries()) {
        const done = await at.store.rematerialize({ packId, namespace, receipts: [receipt] });
        expect(done).toMatchObject([{ events: 1, duplicate: i === 1, quarantined: false }]);
      }
      expect(await count(at, RECEIPT, 'QuarantinedDate IS NULL AND EventCount = 1')).toBe(2);
      expect(await at.drain()).toHaveLength(1);
    });

    it('refuses a paused and a retired pack under the authority lock, and stores nothing', async () => {
      for (const status of ['paused', 'retired'] as const) {
        await at.store.setPackStatus(at.pack.packId, status);
        const receipts = [draftReceipt(at.pack)];
        const { packId, namespace } = at.pack;
        expect(await at.store.materialize({ packId, namespace, receipts })).toEqual({ refused: status });
      }
      expect(await count(at, RECEIPT)).toBe(0);
    });

    it('takes a group larger than every batch shape', async () => {
      const results = await at.admit(
        ...Array.from({ length: 300 }, (_, i) => ({ events: [{ source: `s${i % 7}` }] })),
      );
      expect(results.every((result) => !result.duplicate)).toBe(true);
      expect(await at.drain()).toHaveLength(300);
    });

    it('[MAT-5, ADM-3] takes a group with more bytes than a server takes in one packet', async () => {
      const payload = 'x'.repeat(900_000);
      const sketches = Array.from({ length: 40 }, (_, i) => ({ events: [{ source: `s${i}`, payload }] }));
      const results = await at.admit(...sketches);
      expect(results.every((result) => !result.duplicate)).toBe(true);
      expect(await count(at, EVENT, 'LENGTH(Payload) = 900000')).toBe(40);
    });

    it('keeps the trace of a receipt for the runs of all its Events, and a duplicate does not change it', async () => {
      const traceContext = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01 vendor=opaque';
      const traced = { delivery: 'traced', events: [{ source: 'a' }, { source: 'b' }] };
      await at.admit({ ...traced, traceContext }, { delivery: 'not traced', events: [{ source: 'c' }] });
      const [again] = await at.admit({ ...traced, traceContext: traceContext.replace('0af7', '1af7') });
      expect(again!.duplicate).toBe(true);
      const items = await at.claim();
      const loaded = await at.store.loadEvents(items.map((item) => item.eventId));
      expect(loaded.map((event) => [event!.sourceKey, event!.traceContext])).toEqual([
        ['a', traceContext],
        ['b', traceContext],
        ['c', null],
      ]);
    });

    it('[MAT-1, EXE-2, EVO-3] writes a large body once, however many events have it', async () => {
      const body = 'x'.repeat(300_000);
      const events = Array.from({ length: 6 }, (_, i) => ({ source: `s${i}` }));
      const sketch = { delivery: 'd1', body, events: [...events, { source: 'own', payload: 'own' }] };
      const [stored] = await at.admit(sketch);
      const quarantine = { code: 'materialize_failed', message: 'no such field' };
      const [held] = await at.admit({ ...sketch, delivery: 'd2', quarantine });
      const { packId, namespace } = at.pack;
      const fixed = {
        ...draftReceipt(at.pack, { ...sketch, delivery: 'd2' }),
        receiptId: held!.receiptId,
      };
      await at.store.rematerialize({ packId, namespace, receipts: [fixed] });
      expect(await count(at, EVENT, 'LENGTH(Payload) = 0')).toBe(12);
      // An older binary must not run what it cannot read.
      expect(await count(at, EVENT, "ExecutionOwner = 'event' AND Status = 'pending'")).toBe(2);
      for (const { receiptId } of [stored!, held!]) {
        expect(Buffer.from((await at.store.loadReceipt(receiptId))!.body).toString()).toBe(body);
      }
      const { items } = await at.store.listEvents({
        pack: at.pack.pack,
        namespace: at.pack.namespace,
        limit: 20,
      });
      const hash = sha256(Buffer.from(body)).toString('hex');
      expect(items.filter((item) => item.payloadSha256 === hash)).toHaveLength(12);
      expect((await at.store.showEvent(items[0]!.id))!.event.payloadSha256).toBe(hash);
      const loaded = await at.store.loadEvents(items.map((item) => item.id));
      const texts = loaded.map((event) => Buffer.from(event!.payload).toString());
      expect(texts).toEqual(items.map(({ sourceKey }) => (sourceKey === 'own' ? 'own' : body)));
      expect(await at.drain()).toHaveLength(14);
    });

    it('round-trips bytes, emoji and long keys', async () => {
      const source = `${'é'.repeat(200)}😀`;
      const [result] = await at.admit({ body: '\u0000\u0001ÿ😀', events: [{ source }] });
      const [item] = await at.claim();
      const event = await at.store.loadEvent(item!.eventId);
      expect(event!.sourceKey).toBe(source);
      expect(Buffer.from(event!.payload).toString()).toBe('\u0000\u0001ÿ😀');
      expect(event!.headers).toEqual([['content-type', 'application/json']]);
      expect(event!.receiptId).toBe(result!.receiptId);
    });
  });
}
