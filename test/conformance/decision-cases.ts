import { describe, expect, it } from 'vitest';
import type { EventSketch } from '../support/drafts.js';
import type { Engine } from './engine.js';
import { count, EVENT, FAILURE, ITEM, useStore } from './fixture.js';

const error = { code: 'flow_error', message: 'no answer from 10.0.0.7 after 1500 ms' };

export function decisionCases(engine: Engine): void {
  describe('what people decide', () => {
    const at = useStore(engine);
    const idOf = async (where: string) => {
      const [row] = await at.item(where);
      return row!.EventId as unknown as string;
    };
    const hold = async (source = 'a', event: EventSketch = {}) => {
      await at.admit({ events: [{ source, budget: 1, onDead: 'hold', ...event }] });
      const items = await at.claim();
      await at.finish(items, { kind: 'failed', error, delayMs: 0 });
      return items[0]!.eventId;
    };
    const failures = () =>
      at.store.listFailures({ namespace: 'acme', pack: at.pack.pack, limit: 50 }).then(({ items }) => items);

    describe('[EXE-1] on what is held', () => {
      it('retry: it runs before what waits behind it, with a whole budget, and its attempts go on counting', async () => {
        await at.admit(
          { events: [{ source: 'a', budget: 2, onDead: 'hold' }] },
          { events: [{ source: 'a' }] },
        );
        for (let failure = 0; failure < 2; failure++)
          await at.finish(await at.claim(), { kind: 'failed', error, delayMs: 0 });
        const eventId = await idOf("State = 'held'");
        expect(await at.act('retry', { event: eventId })).toMatchObject({
          kind: 'retry',
          status: 'finished',
          matched: 1,
          changed: 1,
          skipped: 0,
          actor: 'ada',
          reason: 'a case',
        });
        const [again] = await at.claim();
        expect(again).toMatchObject({ eventId, attempt: 3, failures: 0 });
        await at.finish([again!], { kind: 'failed', error, delayMs: 0 });
        expect(await at.finish(await at.claim())).toMatchObject([{ state: 'completed', failures: 1 }]);
        expect(await at.claim()).toHaveLength(1);
      });

      it.each([
        ['skip', 'skipped'],
        ['end', 'dead'],
      ] as const)('%s: it ends %s, for good, and its lane goes on', async (decision, state) => {
        const event = await hold();
        await at.admit({ events: [{ source: 'a' }] });
        expect(await at.claim()).toEqual([]);
        expect(await at.act(decision, { event })).toMatchObject({ changed: 1 });
        expect(await at.item(`State = '${state}' AND TerminalDate IS NOT NULL`)).toHaveLength(1);
        expect(await at.claim()).toHaveLength(1);
        await expect(at.act('retry', { event })).rejects.toThrow(`is not held, it is ${state}`);
      });

      it('what is not held is left alone, and no action is written down', async () => {
        await at.admit({ events: [{ source: 'a' }] });
        const [running] = await at.claim();
        for (const decision of ['retry', 'skip', 'end'] as const) {
          const actionId = `act_${at.pack.packId}_${decision}`;
          const asked = at.act(decision, { event: running!.eventId }, { actionId });
          await expect(asked).rejects.toMatchObject({
            code: 'invalid_argument',
            message: expect.stringContaining('it is processing'),
          });
          expect(
            await at.sql('SELECT 1 FROM _System_ConnectorAction WHERE ActionId = ?', [actionId]),
          ).toEqual([]);
        }
        await expect(at.act('skip', { event: 'evt_nobody' })).rejects.toMatchObject({ code: 'not_found' });
        expect(await at.finish([running!])).toMatchObject([{ lost: false, state: 'completed' }]);
      });

      it('a second click under one id is the same action; of two actions, the second finds it decided', async () => {
        const event = await hold();
        const once = { actionId: `act_${at.pack.packId}` };
        const first = await at.act('skip', { event }, once);
        expect(await at.act('skip', { event }, { ...once, actor: 'grace' })).toEqual(first);
        await expect(at.act('end', { event }, once)).rejects.toThrow('another request');
        await expect(at.act('end', { event })).rejects.toThrow('is not held');
      });

      it('a whole group is decided in bounded steps, and what fails again meanwhile is no part of it', async () => {
        for (const source of ['a', 'b', 'c', 'd', 'e']) await hold(source);
        const [group] = await failures();
        const asked = {
          actionId: `act_${at.pack.packId}`,
          kind: 'retry',
          actor: 'ada',
          reason: 'the peer is back',
          filter: { fingerprint: group!.fingerprint },
        } as const;
        const first = await at.store.act(asked, { limit: 2 });
        expect(first).toMatchObject({ changed: 2, action: { status: 'running', matched: 2, changed: 2 } });
        expect(first.enqueued).toEqual([{ packId: at.pack.packId, queueClasses: ['default'] }]);
        await at.finish(await at.claim(), { kind: 'failed', error, delayMs: 0 });
        // Later than the action began, whatever the clock's steps.
        await at.sql(
          `UPDATE ${FAILURE} SET FailedDate = FailedDate + 60000 WHERE PackId = ? AND WorkId IN
          (SELECT WorkId FROM ${ITEM} WHERE Attempt = 2)`,
          [at.pack.packId],
        );
        const done = await at.act('retry', asked.filter, { ...asked, limit: 2 });
        expect(done).toMatchObject({ matched: 5, changed: 5, skipped: 0 });
        expect(await at.item("State = 'held'")).toHaveLength(2);
        expect(await at.item("State = 'pending'")).toHaveLength(3);
      });

      it('a filter decides on what it means, and on nothing else', async () => {
        for (const source of ['a', 'b', 'c']) await hold(source);
        await at.admit({ events: [{ source: 'b' }] });
        const here = { namespace: 'acme', pack: at.pack.pack };
        const filter = { ...here, sourceKey: 'b' };
        expect(await at.store.preview({ kind: 'skip', filter }, null)).toEqual({
          matched: 1,
          skipped: 0,
          position: null,
        });
        expect(await at.act('skip', filter)).toMatchObject({ matched: 1, changed: 1 });
        expect(await at.item("State = 'held'")).toHaveLength(2);
        expect(await at.act('end', { ...here, until: 1 })).toMatchObject({ matched: 0 });
        expect(await at.act('end', { ...here, route: 'events' })).toMatchObject({ matched: 2, changed: 2 });
        expect(await at.item("State = 'pending'")).toHaveLength(1);
      });

      it('nobody decides on everything by saying nothing', async () => {
        await expect(at.act('skip', {})).rejects.toMatchObject({ code: 'invalid_argument' });
        await expect(at.act('skip', { pack: 'x', states: ['dead'] })).rejects.toThrow('by itself');
      });
    });

    describe('on failures', () => {
      it('those of one cause are one group, whatever their numbers and ids', async () => {
        await hold('a');
        await at.admit({ events: [{ source: 'b' }] }, { events: [{ source: 'c' }] });
        const items = await at.claim();
        const other = { code: 'flow_error', message: 'no answer from 10.99.1.2 after 7 ms' };
        await at.finish([items[0]!], { kind: 'dead', error: other });
        await at.finish([items[1]!], { kind: 'dead', error: { code: 'bad_json', message: 'x' } });
        const groups = [...(await failures())].sort((a, b) => b.count - a.count);
        expect(groups).toMatchObject([
          {
            count: 2,
            code: 'flow_error',
            route: 'events',
            namespace: 'acme',
            message: 'no answer from … after … ms',
          },
          { count: 1, code: 'bad_json', sampleId: items[1]!.eventId },
        ]);
        expect(groups[0]!.sampleId).toBe(items[0]!.eventId);
        expect(groups[0]!.firstAt).toBeLessThanOrEqual(groups[0]!.lastAt);
        const first = await at.store.listFailures({ limit: 1, pack: at.pack.pack });
        const second = await at.store.listFailures({ limit: 9, pack: at.pack.pack, cursor: first.next! });
        expect([...first.items, ...second.items]).toHaveLength(2);
        expect(second.next).toBeNull();
      });

      it('an expired lease that spends the budget is one', async () => {
        await at.admit({ events: [{ source: 'a', budget: 1 }] });
        await at.claim();
        await at.sql(`UPDATE ${ITEM} SET LeaseUntil = 1 WHERE PackId = ?`, [at.pack.packId]);
        await at.claim();
        expect(await failures()).toMatchObject([{ code: 'lease_expired', count: 1 }]);
      });

      it.each(['retry', 'skip', 'end', 'replay'] as const)(
        'who is decided on by %s is none any more',
        async (kind) => {
          const event = await hold();
          if (kind === 'replay') await at.act('end', { event });
          else expect(await failures()).toHaveLength(1);
          await at.act(kind, { event });
          expect(await failures()).toEqual([]);
        },
      );
    });

    describe('[LEG-7] to cancel', () => {
      it('pending work ends skipped, its Event is fenced in the same commit, and its lane goes on', async () => {
        await at.admit({ events: [{ source: 'a' }] }, { events: [{ source: 'a' }] });
        const event = await idOf('1 = 1');
        expect(await at.act('cancel', { event })).toMatchObject({ kind: 'cancel', changed: 1 });
        expect(await at.item("State = 'skipped'")).toMatchObject([
          { EventId: event, LastErrorCode: 'cancelled', LastError: 'a case', Attempt: 0 },
        ]);
        expect(await count(at, EVENT, "ExecutionOwner = 'work_item' AND Status = 'skipped'")).toBe(1);
        const [next] = await at.claim();
        expect(next!.eventId).not.toBe(event);
        expect(await at.claim()).toEqual([]);
      });

      it('what waits for a retry is pending, and was fenced by its claim', async () => {
        await at.admit({});
        const [item] = await at.claim();
        await at.finish([item!], { kind: 'failed', error, delayMs: 60_000 });
        expect(await at.act('cancel', { event: item!.eventId })).toMatchObject({ changed: 1 });
        expect(await at.item("State = 'skipped'")).toMatchObject([{ Failures: 1, Attempt: 1 }]);
      });

      it('what runs, has ended or is held is refused, with the reason', async () => {
        const held = await hold('h');
        await at.admit({ events: [{ source: 'a' }] });
        const [running] = await at.claim();
        await expect(at.act('cancel', { event: running!.eventId })).rejects.toThrow('it is running');
        await expect(at.act('cancel', { event: held })).rejects.toThrow('it is held');
        await at.finish([running!]);
        await expect(at.act('cancel', { event: running!.eventId })).rejects.toThrow('it is completed');
        expect(await count(at, ITEM, "State = 'skipped'")).toBe(0);
      });

      it.each([
        ['processing', 'running it'],
        ['processed', 'has ended it'],
      ])('[EVO-10] an Event that an older version has %s stays its', async (status, why) => {
        await at.admit({});
        await at.sql(`UPDATE ${EVENT} SET Status = ? WHERE PackId = ?`, [status, at.pack.packId]);
        await expect(at.act('cancel', { event: await idOf('1 = 1') })).rejects.toThrow(why);
        expect(await count(at, ITEM, "State = 'pending'")).toBe(1);
      });

      it('[PRJ-3] an active generation hands over, and a queued one is simply gone', async () => {
        const projected = { events: [{ source: 's', projection: 'p' }] };
        await at.admit(projected, projected);
        const [active, queued] = await at.item('1 = 1');
        await at.act('cancel', { event: active!.EventId as unknown as string });
        expect(await at.item('ProjectionActiveKey IS NOT NULL')).toMatchObject([{ WorkId: queued!.WorkId }]);
        await at.admit(projected);
        await at.act('cancel', { event: await idOf("State = 'pending' AND ProjectionActiveKey IS NULL") });
        await at.admit(projected);
        expect(await at.drain()).toEqual(['s', 's']);
      });

      it('many at once, by source', async () => {
        await at.admit(
          ...Array.from({ length: 70 }, () => ({ events: [{ source: 'flood' }, { source: 'calm' }] })),
        );
        const filter = { pack: at.pack.pack, sourceKey: 'flood' };
        expect(await at.act('cancel', filter)).toMatchObject({ matched: 70, changed: 70 });
        expect(new Set(await at.drain())).toEqual(new Set(['calm']));
      });
    });
  });
}
