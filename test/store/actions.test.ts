import { describe, expect, it } from 'vitest';
import type { ActionRequest } from '../../src/store/store.js';
import { advanceAction, openAction } from '../../src/store/verbs/actions.js';
import { useStore } from '../conformance/fixture.js';
import { mysqlEngine } from '../support/mysql-engine.js';
import { sqliteEngine } from '../support/sqlite-engine.js';

for (const engine of [sqliteEngine, mysqlEngine('mysql')]) {
  describe(`what people do, on ${engine.name}`, () => {
    const at = useStore(engine);
    const request = (changes: Partial<ActionRequest> = {}): ActionRequest => ({
      actionId: `act_${at.pack.packId}`,
      kind: 'skip',
      actor: 'ada',
      reason: 'sent twice by hand',
      target: JSON.stringify({ event: 'evt_1' }),
      ...changes,
    });
    const open = (changes?: Partial<ActionRequest>) =>
      at.driver.transaction(() => openAction(request(changes)));
    const list = async () => (await at.store.listActions({ limit: 50 })).items;

    it('a double click is one action, and goes on where the first one was', async () => {
      await at.driver.transaction(function* () {
        const { ActionId } = yield* openAction(request());
        yield* advanceAction(ActionId, {
          position: 'wrk_5',
          matched: 3,
          changed: 2,
          skipped: 1,
          finished: false,
        });
      });
      expect(await open({ actor: 'grace', reason: 'the same' })).toMatchObject({
        Actor: 'ada',
        Position: 'wrk_5',
        Matched: 3,
        Status: 'running',
      });
      const step = { position: null, matched: 1, changed: 1, skipped: 0, finished: true };
      await at.driver.transaction(() => advanceAction(request().actionId, step));
      // Finished is finished: a step that comes late changes nothing.
      await at.driver.transaction(() => advanceAction(request().actionId, step));
      expect((await list()).filter((action) => action.action === request().actionId)).toMatchObject([
        {
          kind: 'skip',
          actor: 'ada',
          reason: 'sent twice by hand',
          target: '{"event":"evt_1"}',
          status: 'finished',
          matched: 4,
          changed: 3,
          skipped: 1,
          finishedAt: expect.any(Number),
        },
      ]);
    });

    it('another request under a known id is refused, and so is one without a name or a reason', async () => {
      await open();
      await expect(open({ target: JSON.stringify({ event: 'evt_2' }) })).rejects.toThrow('another request');
      await expect(open({ kind: 'end' })).rejects.toThrow('another request');
      await expect(open({ actionId: 'with space' })).rejects.toThrow('action id');
      await expect(open({ actor: ' ' })).rejects.toThrow('who acts');
      await expect(open({ reason: 'x'.repeat(2_001) })).rejects.toThrow('reason');
    });

    it('two who open one action at once have one', async () => {
      const opened = await Promise.allSettled([open(), open(), open()]);
      const failures = opened.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
      // Who loses the race for the lock starts again, as every verb does; nobody makes a second row.
      for (const failure of failures) expect(failure).toMatchObject({ name: 'Contention' });
      expect((await list()).filter((action) => action.action === request().actionId)).toHaveLength(1);
    });

    it('the log is read newest first, page by page, by kind and by state', async () => {
      for (const n of [1, 2, 3]) await open({ actionId: `act_${at.pack.packId}_${n}`, kind: 'erase' });
      await at.driver.transaction(() =>
        advanceAction(`act_${at.pack.packId}_2`, {
          position: null,
          matched: 0,
          changed: 0,
          skipped: 0,
          finished: true,
        }),
      );
      const filter = { kind: 'erase', limit: 2 } as const;
      const first = await at.store.listActions(filter);
      const second = await at.store.listActions({ ...filter, cursor: first.next! });
      const seen = [...first.items, ...second.items].map(({ action }) => action);
      expect(seen).toEqual([3, 2, 1].map((n) => `act_${at.pack.packId}_${n}`));
      expect(second.next).toBeNull();
      const finished = await at.store.listActions({ ...filter, status: 'finished' });
      expect(finished.items.map(({ action }) => action)).toEqual([`act_${at.pack.packId}_2`]);
      await expect(at.store.listActions({ ...filter, cursor: 'evt_1' })).rejects.toThrow('cursor');
    });
  });
}
