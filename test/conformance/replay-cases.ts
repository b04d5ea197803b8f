import { describe, expect, it } from 'vitest';
import type { WorkItemState } from '../../src/core/work.js';
import type { Engine } from './engine.js';
import { count, EVENT, ITEM, REPLAY, recountByHand, useStore } from './fixture.js';

const error = { code: 'flow_error', message: 'failed' };

export function replayCases(engine: Engine): void {
  describe('replay', () => {
    const at = useStore(engine);
    const eventIds = async (where = '1 = 1') =>
      (await at.item(where)).map((row) => row.EventId as unknown as string);
    /** One item for each of these ends. */
    const ended = async (...states: WorkItemState[]) => {
      await at.admit(...states.map((state, n) => ({ events: [{ source: `${state} ${n}` }] })));
      for (const item of await at.claim()) {
        const event = await at.store.loadEvent(item.eventId);
        const kind = event!.sourceKey.split(' ')[0] as 'completed' | 'skipped' | 'dead';
        await at.finish([item], kind === 'completed' ? { kind } : { kind, error });
      }
      return await eventIds();
    };
    const here = () => ({ namespace: 'acme', pack: at.pack.pack });
    const childOf = async (event: string) => (await at.store.showEvent(event))!.childId;

    it('[RPL-1] it runs once more as a new Event of the same facts; what ended stays what it was', async () => {
      const [parent] = await ended('dead');
      const mirror = () => at.sql(`SELECT * FROM ${EVENT} WHERE EventId = ?`, [parent]);
      const before = await mirror();
      expect(await at.act('replay', { event: parent! })).toMatchObject({
        matched: 1,
        changed: 1,
        skipped: 0,
      });
      expect(await mirror()).toEqual(before);
      const [row, child] = await at.item('1 = 1');
      expect(row).toMatchObject({ State: 'dead', ReplayedAt: expect.any(Number) });
      expect(child).toMatchObject({
        State: 'pending',
        Attempt: 0,
        Failures: 0,
        LaneKey: row!.LaneKey,
        FailureBudget: row!.FailureBudget,
        ReplayedAt: null,
      });
      const [loadedParent, loaded] = await at.store.loadEvents([parent!, (await childOf(parent!)) as string]);
      const { eventId, origin, parentId, ...facts } = loaded!;
      expect({ origin, parentId }).toEqual({ origin: 'replay', parentId: parent });
      expect(loadedParent).toMatchObject(facts);
      expect(await at.claim()).toMatchObject([{ eventId, attempt: 1 }]);
    });

    it('[RPL-2] a second replay answers with the child; replaying the child makes the next run', async () => {
      const [parent] = await ended('completed');
      await at.act('replay', { event: parent! });
      const child = await childOf(parent!);
      expect(await at.act('replay', { event: parent! })).toMatchObject({
        matched: 1,
        changed: 0,
        skipped: 1,
      });
      expect(await childOf(parent!)).toBe(child);
      await expect(at.act('replay', { event: child! })).rejects.toThrow('has not ended, it is pending');
      await at.drain();
      expect(await at.act('replay', { event: child! })).toMatchObject({ changed: 1 });
      expect(await count(at, EVENT)).toBe(3);
      expect(await at.drain()).toEqual(['completed 0']);
    });

    it('[RPL-2] what an older version has replayed is not replayed again', async () => {
      const [parent, other] = await ended('completed', 'completed');
      await at.sql(`UPDATE ${EVENT} SET ReplayedAt = 5 WHERE EventId = ?`, [parent]);
      await expect(at.act('replay', { event: parent! })).rejects.toThrow('an older version has replayed it');
      const filter = { ...here(), states: ['completed'] as const };
      expect(await at.store.preview({ kind: 'replay', filter }, null)).toMatchObject({
        matched: 2,
        skipped: 1,
      });
      expect(await at.act('replay', filter)).toMatchObject({ matched: 2, changed: 1, skipped: 1 });
      expect([await childOf(parent!), await childOf(other!)]).toEqual([null, expect.any(String)]);
      expect(await at.sql(`SELECT ReplayedAt FROM ${EVENT} WHERE EventId = ?`, [parent])).toEqual([
        { ReplayedAt: 5 },
      ]);
    });

    it('[RPL-2] what an older version ended is marked where older replayers look', async () => {
      const [parent] = await ended('completed');
      await at.sql(`UPDATE ${EVENT} SET ExecutionOwner = 'event', Status = 'processed' WHERE EventId = ?`, [
        parent,
      ]);
      await at.act('replay', { event: parent! });
      const marks = await at.sql(`SELECT ReplayedAt, Status FROM ${EVENT} WHERE EventId = ?`, [parent]);
      expect(marks).toEqual([{ ReplayedAt: expect.any(Number), Status: 'processed' }]);
    });

    it('what has not ended, what has no work, and what nobody knows are refused with the reason', async () => {
      await at.admit({ events: [{ source: 'a' }] });
      const [open] = await eventIds();
      await expect(at.act('replay', { event: open! })).rejects.toThrow('it is pending');
      await at.claim();
      await expect(at.act('replay', { event: open! })).rejects.toThrow('it is processing');
      await expect(at.act('replay', { event: 'evt_nobody' })).rejects.toMatchObject({ code: 'not_found' });
      const old = `evt_old_${at.pack.packId}`;
      await at.sql(
        `INSERT INTO ${EVENT} (EventId, PackId, EventType, SourceKey, DeliveryKey, Route, IdempotencyKey, ReceivedDate,
         CreatedDate, Payload) VALUES (?, ?, 'push', 'a', 'd', 'events', ?, 1, 1, ?)`,
        [old, at.pack.packId, Buffer.from(old.padEnd(32)), Buffer.from('x')],
      );
      await expect(at.act('replay', { event: old })).rejects.toThrow('has no work yet');
      await at.sql(`DELETE FROM ${EVENT} WHERE EventId = ?`, [old]);
      for (const filter of [{}, here(), { ...here(), states: ['held'] as const }])
        await expect(at.act('replay', filter)).rejects.toMatchObject({ code: 'invalid_argument' });
    });

    it('a filter replays the states it names, of what was there when it began, in bounded steps', async () => {
      const before = await ended('completed', 'dead', 'skipped', 'completed', 'dead', 'completed');
      const asked = {
        actionId: `act_${at.pack.packId}`,
        actor: 'ada',
        reason: 'fixed',
        kind: 'replay',
        filter: { ...here(), states: ['completed', 'skipped'] },
      } as const;
      expect(await at.store.preview(asked, null)).toEqual({ matched: 4, skipped: 0, position: null });
      expect(await count(at, EVENT)).toBe(before.length);
      const started: string[] = [];
      for (let steps = 1; ; steps++) {
        const { action } = await at.store.act(asked, { limit: 1 });
        expect(action.changed).toBe(Math.min(4, steps));
        // Children end while their action goes on, and are no targets of it.
        started.push(...(await at.drain()));
        if (action.status === 'finished') break;
      }
      expect(started.sort()).toEqual(['completed 0', 'completed 3', 'completed 5', 'skipped 2']);
      expect(await count(at, EVENT)).toBe(before.length + 4);
      expect((await at.store.act(asked)).action).toMatchObject({
        matched: 4,
        changed: 4,
        status: 'finished',
      });
      expect(await count(at, EVENT)).toBe(before.length + 4);
      expect(await at.act('replay', asked.filter)).toMatchObject({ matched: 8, changed: 4, skipped: 4 });
    });

    it('what a replay made is no target of it, also where the clock was set back', async () => {
      await ended('completed', 'completed');
      const filter = { ...here(), states: ['completed'] as const };
      const asked = {
        actionId: `act_${at.pack.packId}`,
        actor: 'ada',
        reason: 'x',
        kind: 'replay',
        filter,
      } as const;
      await at.store.act(asked, { limit: 1 });
      await at.drain();
      await at.sql(`UPDATE ${EVENT} SET CreatedDate = 1 WHERE PackId = ? AND Origin = 'replay'`, [
        at.pack.packId,
      ]);
      expect(await at.act('replay', filter, asked)).toMatchObject({ matched: 2, changed: 2 });
    });

    it('children enter behind what is queued, in the order of their parents', async () => {
      await at.admit({
        events: [
          { source: 'a', payload: '1' },
          { source: 'a', payload: '2' },
        ],
      });
      await at.drain();
      await at.admit({ events: [{ source: 'a', payload: '3' }] });
      await at.act('replay', { ...here(), states: ['completed'] });
      const order: string[] = [];
      for (;;) {
        const items = await at.claim();
        if (items.length === 0) break;
        for (const { eventId } of items)
          order.push(Buffer.from((await at.store.loadEvent(eventId))!.payload).toString());
        await at.finish(items);
      }
      expect(order).toEqual(['3', '1', '2']);
    });

    it('a group of failures is replayed by its fingerprint, and is none any more', async () => {
      await ended('dead', 'dead', 'dead', 'completed');
      const [group] = (await at.store.listFailures({ ...here(), limit: 9 })).items;
      expect(group).toMatchObject({ count: 3 });
      const { fingerprint } = group!;
      expect(await at.act('replay', { fingerprint }, { limit: 2 })).toMatchObject({ matched: 3, changed: 3 });
      expect((await at.store.listFailures({ ...here(), limit: 9 })).items).toEqual([]);
      expect(await at.act('replay', { fingerprint })).toMatchObject({ matched: 0 });
    });

    it('[COA-5] what was coalesced away is replayable, and enters by the rules of its projection', async () => {
      const projected = (payload: string) => ({ events: [{ source: 's', projection: 'p', payload }] });
      await at.admit(projected('1'), projected('2'), projected('3'));
      const [coalesced] = await eventIds("State = 'coalesced'");
      await at.drain();
      await at.act('replay', { event: coalesced! });
      const [child] = await at.claim();
      expect(Buffer.from((await at.store.loadEvent(child!.eventId))!.payload).toString()).toBe('2');
      await at.admit(projected('4'));
      expect(await at.claim()).toEqual([]);
      // Another child replaces what waits: the newest enqueued is the newest.
      const [first] = await eventIds("State = 'completed'");
      await at.act('replay', { event: first! });
      expect(await at.item("State = 'coalesced'")).toHaveLength(2);
      await at.finish([child!]);
      expect(await at.drain()).toEqual(['s']);
    });

    it('[LEG-7] a child that another child replaces at once is over, and its Event is fenced', async () => {
      const projected = { events: [{ source: 's', projection: 'p' }] };
      await at.admit(projected);
      await at.drain();
      for (let n = 0; n < 2; n++) {
        await at.admit(projected);
        await at.drain();
      }
      await at.act('replay', { ...here(), states: ['completed'] });
      expect((await at.item('SupersededBy IS NOT NULL')).map((row) => row.State)).toEqual(['coalesced']);
      expect(await count(at, EVENT, "Origin = 'replay' AND ExecutionOwner = 'work_item'")).toBe(1);
      expect(await at.drain()).toEqual(['s', 's']);
    });

    it('a body that stands in the receipt alone is the child’s too, also when its parent is gone', async () => {
      const body = 'x'.repeat(2 ** 20 + 1);
      await at.admit({ body, events: [{ source: 'a' }, { source: 'b' }] });
      await at.drain();
      const [parent] = await eventIds();
      await at.act('replay', { event: parent! });
      const child = (await childOf(parent!)) as string;
      for (const table of [EVENT, ITEM]) await at.sql(`DELETE FROM ${table} WHERE EventId = ?`, [parent]);
      await at.sql(`DELETE FROM ${REPLAY} WHERE ParentId = ?`, [parent]);
      await recountByHand(at);
      const owner = `ExecutionOwner = 'work_item' AND Status = 'skipped' AND EventId = '${child}'`;
      expect(await count(at, EVENT, owner)).toBe(1);
      const loaded = await at.store.loadEvent(child);
      expect(Buffer.from(loaded!.payload).toString()).toBe(body);
      expect(await at.drain()).toEqual(['a']);
    });

    it('a paused pack keeps its children until it goes on; a retired one has none', async () => {
      const [parent, other] = await ended('dead', 'dead');
      await at.store.setPackStatus(at.pack.packId, 'paused');
      expect(await at.act('replay', { event: parent! })).toMatchObject({ changed: 1 });
      await at.store.setPackStatus(at.pack.packId, 'retired');
      await expect(at.act('replay', { event: other! })).rejects.toThrow('retired');
      await at.store.setPackStatus(at.pack.packId, 'active');
      expect(await at.drain()).toEqual(['dead 0']);
    });
  });
}
