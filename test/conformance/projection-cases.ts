import { describe, expect, it } from 'vitest';
import type { Engine } from './engine.js';
import { count, EVENT, recountByHand, useStore } from './fixture.js';

const error = { code: 'x', message: 'x' };
const projected = (payload: string) => ({ events: [{ source: 's', projection: 'p', payload }] });

export function projectionCases(engine: Engine): void {
  describe('source projections', () => {
    const at = useStore(engine);
    const states = async () =>
      (await at.item('1 = 1')).map((row) =>
        [row.State, row.ProjectionActiveKey !== null, row.ProjectionGeneration].join(' '),
      );

    it('[PRJ-1] a queued successor is neither ready nor in anybody’s way', async () => {
      await at.admit(projected('1'));
      await at.admit(projected('2'));
      expect(await states()).toEqual(['pending true 1', 'pending false 2']);
      const first = await at.claim();
      expect(first).toHaveLength(1);
      expect(await at.claim()).toEqual([]);
      await at.sql(`UPDATE _System_ConnectorWorkItem SET Readiness = 2 WHERE PackId = ?`, [at.pack.packId]);
      expect(await at.claim()).toEqual([]);
    });

    it('[PRJ-1] a queued successor blocks no lane it will take part in', async () => {
      await at.admit({ events: [{ source: 's', projection: 'p' }] });
      await at.admit({ events: [{ source: 's', projection: 'p', target: 't' }] });
      await at.admit({ events: [{ source: 'other', target: 't' }] });
      const items = await at.claim();
      expect(items).toHaveLength(2);
    });

    it('[PRJ-2] a newer Event replaces the queued one; the database allows one active and one queued', async () => {
      await at.admit(projected('1'));
      await at.admit(projected('2'));
      await at.admit(projected('3'));
      expect(await states()).toEqual(['pending true 1', 'coalesced false 2', 'pending false 3']);
      const rows = await at.item('1 = 1');
      expect(rows[1]!.SupersededBy).toBe(rows[2]!.WorkId);
      await expect(
        at.sql(`UPDATE _System_ConnectorWorkItem SET ProjectionActiveKey = ProjectionKey WHERE WorkId = ?`, [
          rows[2]!.WorkId,
        ]),
      ).rejects.toThrow();
      await expect(
        at.sql(`UPDATE _System_ConnectorWorkItem SET State = 'pending' WHERE WorkId = ?`, [rows[1]!.WorkId]),
      ).rejects.toThrow();
    });

    it('[LEG-7] the replaced one’s Event is fenced in the same transaction', async () => {
      await at.admit(projected('1'));
      await at.admit(projected('2'));
      await at.admit(projected('3'));
      expect(await count(at, EVENT, "ExecutionOwner = 'work_item' AND Status = 'skipped'")).toBe(1);
    });

    it('[PRJ-2] keeps the rule inside one group', async () => {
      await at.admit(...['1', '2', '3', '4'].map(projected));
      expect(await states()).toEqual([
        'pending true 1',
        'coalesced false 2',
        'coalesced false 3',
        'pending false 4',
      ]);
      expect(await count(at, EVENT, "ExecutionOwner = 'work_item' AND Status = 'skipped'")).toBe(2);
      expect(await at.drain()).toHaveLength(2);
    });

    for (const kind of ['completed', 'skipped', 'dead'] as const) {
      it(`[PRJ-3] ${kind} hands over to the successor in the same transaction`, async () => {
        await at.admit(projected('1'), projected('2'));
        const first = await at.claim();
        await at.finish(first, kind === 'completed' ? { kind } : { kind, error });
        expect((await states())[1]).toBe('pending true 2');
        const second = await at.claim();
        expect(second).toHaveLength(1);
        await at.finish(second);
        expect((await states()).map((state) => state.split(' ')[0])).toEqual([kind, 'completed']);
      });
    }

    it('[PRJ-3] a retry, a release and a hold are not ends: the successor waits', async () => {
      await at.admit(
        { events: [{ source: 's', projection: 'p', budget: 2, onDead: 'hold' }] },
        projected('2'),
      );
      await at.finish(await at.claim(), { kind: 'released', reason: 'x' });
      expect((await states())[1]).toBe('pending false 2');
      await at.finish(await at.claim(), { kind: 'failed', error, delayMs: 0 });
      expect((await states())[1]).toBe('pending false 2');
      await at.finish(await at.claim(), { kind: 'failed', error, delayMs: 0 });
      expect(await states()).toEqual(['held true 1', 'pending false 2']);
      expect(await at.claim()).toEqual([]);
    });

    it.each(['skip', 'end'] as const)(
      '[PRJ-3] what is held keeps its generation, and a decision to %s it hands over',
      async (decision) => {
        await at.admit(
          { events: [{ source: 's', projection: 'p', budget: 1, onDead: 'hold' }] },
          projected('2'),
        );
        const [first] = await at.claim();
        await at.finish([first!], { kind: 'failed', error, delayMs: 0 });
        await at.act(decision, { event: first!.eventId });
        expect((await states())[1]).toBe('pending true 2');
        const second = await at.claim();
        expect(second).toHaveLength(1);
        await at.finish(second);
        await at.admit(projected('3'));
        expect(await at.drain()).toEqual(['s']);
      },
    );

    it('[PRJ-3] ends by an expired lease hand over too', async () => {
      await at.admit({ events: [{ source: 's', projection: 'p', budget: 1 }] }, projected('2'));
      await at.claim();
      await at.sql('UPDATE _System_ConnectorWorkItem SET LeaseUntil = 1 WHERE PackId = ?', [at.pack.packId]);
      expect(await at.claim()).toHaveLength(1);
      expect((await states()).map((state) => state.split(' ')[0])).toEqual(['dead', 'processing']);
    });

    it('[PRJ-4] projection lanes are theirs alone: a plain item of the same source does not wait in them', async () => {
      await at.admit(projected('1'), { events: [{ source: 's' }] });
      const items = await at.claim();
      expect(items.map((item) => item.laneKey!.slice(0, 4)).sort()).toEqual(['csp:', 'src:']);
    });

    it('[OWN-2] a generation activated later waits for a younger item that already runs in its delivery', async () => {
      await at.admit({ delivery: 'd0', events: [{ source: 's', projection: 'p' }] });
      const active = await at.claim();
      await at.admit({
        ordering: 'strict',
        delivery: 'd1',
        events: [{ source: 's', projection: 'p' }, { source: 'other' }],
      });
      const younger = await at.claim();
      expect(younger).toHaveLength(1);
      await at.finish(active);
      expect(await at.claim()).toEqual([]);
      await at.finish(younger);
      expect(await at.claim()).toHaveLength(1);
    });

    describe('[OWN-2] a generation activated behind a younger item that runs is head when that one stops', () => {
      async function activatedBehind(onDead: 'advance' | 'hold' = 'advance') {
        await at.admit({ delivery: 'd0', events: [{ source: 's', projection: 'p' }] });
        const active = await at.claim();
        const [older, other] = [
          { source: 's', projection: 'p' },
          { source: 'other', onDead },
        ];
        await at.admit({ ordering: 'strict', delivery: 'd1', events: [older, other] });
        const younger = await at.claim();
        await at.finish(active);
        return younger;
      }
      const claimedSources = async () => {
        const events = await at.store.loadEvents((await at.claim()).map((item) => item.eventId));
        return events.map((event) => event!.sourceKey);
      };

      for (const outcome of [
        { kind: 'released', reason: 'x' },
        { kind: 'failed', error, delayMs: 0 },
        { kind: 'dead', error },
      ] as const) {
        it(`to be ${outcome.kind}`, async () => {
          await at.finish(await activatedBehind('hold'), outcome);
          expect(await claimedSources()).toEqual(['s']);
        });
      }

      it('to be taken over', async () => {
        const [younger] = await activatedBehind();
        const sql = 'UPDATE _System_ConnectorWorkItem SET LeaseUntil = 1 WHERE WorkId = ?';
        await at.sql(sql, [younger!.lease.workId]);
        expect(await claimedSources()).toEqual(['s']);
      });
    });

    it('generations of a key go on rising after its rows are gone', async () => {
      await at.admit(projected('1'));
      await at.drain();
      await at.sql('DELETE FROM _System_ConnectorWorkItem WHERE PackId = ?', [at.pack.packId]);
      await recountByHand(at);
      await at.admit(projected('2'));
      expect(await states()).toEqual(['pending true 2']);
    });
  });
}
