import { describe, expect, it } from 'vitest';
import type { Engine } from './engine.js';
import { useStore } from './fixture.js';

const error = { code: 'flow_failed', message: 'it broke' };

export function finalizeCases(engine: Engine): void {
  describe('finalize', () => {
    const at = useStore(engine);

    it('[EXE-3] ends items in each way and writes no Event mirror', async () => {
      await at.admit(...['a', 'b', 'c', 'd'].map((source) => ({ events: [{ source }] })));
      const items = await at.claim();
      const before = await at.sql('SELECT * FROM _System_ConnectorEvent WHERE PackId = ? ORDER BY EventId', [
        at.pack.packId,
      ]);
      const results = await at.store.finalize([
        { lease: items[0]!.lease, outcome: { kind: 'completed' } },
        { lease: items[1]!.lease, outcome: { kind: 'skipped', error } },
        { lease: items[2]!.lease, outcome: { kind: 'dead', error } },
        { lease: items[3]!.lease, outcome: { kind: 'failed', error, delayMs: 60_000 } },
      ]);
      expect(results.map((result) => !result.lost && result.state)).toEqual([
        'completed',
        'skipped',
        'dead',
        'pending',
      ]);
      const after = await at.sql('SELECT * FROM _System_ConnectorEvent WHERE PackId = ? ORDER BY EventId', [
        at.pack.packId,
      ]);
      expect(after).toEqual(before);
      expect(await at.item("State = 'dead'")).toMatchObject([
        { LastErrorCode: 'flow_failed', LastError: 'it broke' },
      ]);
    });

    it('[EXE-4] limit 3, always failing: exactly 3 attempts, then dead', async () => {
      await at.admit({ events: [{ budget: 3 }] });
      const states: unknown[] = [];
      for (let run = 1; run <= 3; run++) {
        const items = await at.claim();
        expect(items).toMatchObject([{ attempt: run }]);
        states.push(...(await at.finish(items, { kind: 'failed', error, delayMs: 0 })));
      }
      expect(states).toMatchObject([
        { state: 'pending', failures: 1 },
        { state: 'pending', failures: 2 },
        { state: 'dead', failures: 3 },
      ]);
      expect(await at.claim()).toEqual([]);
    });

    it('[OWN-5] rejects a holder whose lease was taken over, whatever it wants to do', async () => {
      await at.admit({ events: [{ source: 'a' }] });
      const [old] = await at.claim();
      await at.sql('UPDATE _System_ConnectorWorkItem SET LeaseUntil = 1 WHERE WorkId = ?', [
        old!.lease.workId,
      ]);
      const [taken] = await at.claim();
      for (const outcome of [
        { kind: 'completed' },
        { kind: 'failed', error, delayMs: 0 },
        { kind: 'released', reason: 'late' },
        { kind: 'skipped', error },
        { kind: 'dead', error },
      ] as const) {
        expect(await at.finish([old!], outcome)).toEqual([{ workId: old!.lease.workId, lost: true }]);
      }
      expect((await at.store.renew([old!.lease], 60_000)).lost).toEqual([old!.lease.workId]);
      expect(await at.finish([taken!])).toMatchObject([{ lost: false, state: 'completed' }]);
    });

    it('[OWN-5] checks token and epoch, each by itself', async () => {
      await at.admit({});
      const [held] = await at.claim();
      const lease = { ...held!.lease, epoch: held!.lease.epoch - 1 };
      const guessed = { ...held!.lease, token: '0'.repeat(32) };
      expect(await at.store.finalize([{ lease: guessed, outcome: { kind: 'completed' } }])).toMatchObject([
        { lost: true },
      ]);
      expect((await at.store.renew([guessed], 60_000)).lost).toHaveLength(1);
      expect(await at.store.finalize([{ lease, outcome: { kind: 'completed' } }])).toMatchObject([
        { lost: true },
      ]);
      expect((await at.store.renew([lease], 60_000)).lost).toHaveLength(1);
    });

    it('one lost lease undoes no other item of the batch', async () => {
      await at.admit(...['a', 'b', 'c'].map((source) => ({ events: [{ source }] })));
      const items = await at.claim();
      await at.sql('UPDATE _System_ConnectorWorkItem SET OwnershipEpoch = 9 WHERE WorkId = ?', [
        items[1]!.lease.workId,
      ]);
      expect((await at.finish(items)).map((result) => result.lost)).toEqual([false, true, false]);
    });

    it('one lease twice in a batch: the first outcome counts, and undoes nobody', async () => {
      await at.admit(...['a', 'b', 'c'].map((source) => ({ events: [{ source }] })));
      const [a, b, c] = await at.claim();
      const failed = { kind: 'failed', error, delayMs: 0 } as const;
      const results = await at.store.finalize([
        { lease: a!.lease, outcome: { kind: 'completed' } },
        { lease: a!.lease, outcome: failed },
        { lease: b!.lease, outcome: failed },
        { lease: b!.lease, outcome: failed },
        { lease: c!.lease, outcome: { kind: 'completed' } },
      ]);
      const state = (item: typeof a, name: string, failures: number) =>
        ({ workId: item!.lease.workId, lost: false, state: name, failures }) as const;
      const [first, second] = [state(a, 'completed', 0), state(b, 'pending', 1)];
      expect(results).toEqual([first, first, second, second, state(c, 'completed', 0)]);
    });

    it('a repeat after a lost COMMIT answer finds its own work done', async () => {
      await at.admit({}, { events: [{ source: 'b' }] });
      const items = await at.claim();
      const batch = [
        { lease: items[0]!.lease, outcome: { kind: 'completed' } },
        { lease: items[1]!.lease, outcome: { kind: 'failed', error, delayMs: 60_000 } },
      ] as const;
      const first = await at.store.finalize(batch);
      expect(await at.store.finalize(batch)).toEqual(first);
      expect(await at.item("State = 'pending'")).toMatchObject([{ Failures: 1 }]);
    });

    it('giving an unrun claim back burns nothing', async () => {
      await at.admit({ events: [{ budget: 1 }] });
      for (let i = 0; i < 5; i++) await at.finish(await at.claim(), { kind: 'released', reason: 'stop' });
      expect(await at.item('1 = 1')).toMatchObject([{ State: 'pending', Failures: 0, Attempt: 5 }]);
      expect(await at.finish(await at.claim())).toMatchObject([{ state: 'completed' }]);
    });

    it('a retrying head keeps its lane waiting', async () => {
      await at.admit({ events: [{ source: 'a' }] }, { events: [{ source: 'a' }] });
      await at.finish(await at.claim(), { kind: 'failed', error, delayMs: 60_000 });
      expect(await at.claim()).toEqual([]);
      await at.sql('UPDATE _System_ConnectorWorkItem SET RunAfter = 0 WHERE PackId = ?', [at.pack.packId]);
      expect(await at.claim()).toMatchObject([{ attempt: 2 }]);
    });

    it("under onDead 'hold' a dead letter parks its lane", async () => {
      await at.admit({ events: [{ source: 'a', budget: 1, onDead: 'hold' }] }, { events: [{ source: 'a' }] });
      expect(await at.finish(await at.claim(), { kind: 'failed', error, delayMs: 0 })).toMatchObject([
        { state: 'held' },
      ]);
      expect(await at.claim()).toEqual([]);
      await at.admit({ events: [{ source: 'b', onDead: 'hold' }] }, { events: [{ source: 'b' }] });
      expect(await at.finish(await at.claim(), { kind: 'dead', error })).toMatchObject([{ state: 'held' }]);
      expect(await at.claim()).toEqual([]);
      expect(await at.item("State = 'held'")).toHaveLength(2);
    });

    it('an item admitted while its predecessor runs becomes head when that ends', async () => {
      await at.admit({ events: [{ source: 'a' }] });
      const running = await at.claim();
      await at.admit({ events: [{ source: 'a' }] });
      expect(await at.item("State = 'pending'")).toMatchObject([{ Readiness: 0 }]);
      await at.finish(running);
      expect(await at.claim()).toHaveLength(1);
    });
  });
}
