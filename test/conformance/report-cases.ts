import { describe, expect, it } from 'vitest';
import { sha256 } from '../../src/core/identity.js';
import type { Engine } from './engine.js';
import { useStore } from './fixture.js';

export function reportCases(engine: Engine): void {
  describe('reports', () => {
    const at = useStore(engine);

    it('counts every state once, by mark and by predicate alike', async () => {
      await at.admit(
        { events: [{ source: 'a' }] },
        { events: [{ source: 'a' }] },
        { events: [{ source: 'b', queueClass: 'bulk', runAfter: Date.now() + 60_000 }] },
        { events: [{ source: 'p', projection: 'p' }] },
        { events: [{ source: 'p', projection: 'p' }] },
        { events: [{ source: 'd' }] },
      );
      const items = await at.claim();
      expect(items).toHaveLength(3);
      await at.sql('UPDATE _System_ConnectorWorkItem SET LeaseUntil = 1 WHERE WorkId = ?', [
        items[1]!.lease.workId,
      ]);
      await at.finish([items[2]!]);
      await at.admit({ events: [{ source: 'fresh', queueClass: 'interactive' }] });
      for (const exact of [false, true]) {
        const stats = await at.store.stats({ exact });
        const pack = stats.packs.find((entry) => entry.pack === at.pack.pack)!;
        expect(pack).toMatchObject({ namespace: 'acme', generation: 1 });
        expect(pack.classes.default).toMatchObject({
          ready: 0,
          delayed: 0,
          blocked: 1,
          queued: 1,
          processing: 1,
          stale: 1,
          held: 0,
          completed: 1,
          oldestReadyMs: null,
        });
        expect(pack.classes.bulk).toMatchObject({ delayed: 1, ready: 0 });
        expect(pack.classes.interactive).toMatchObject({ ready: 1 });
        expect(pack.classes.interactive!.oldestReadyMs).toBeGreaterThanOrEqual(0);
        expect(stats.exact).toBe(exact);
      }
    });

    it('[MET-3] gauges count what is in processing and tell how long the first ready item of a class has been due', async () => {
      await at.admit(
        { events: [{ source: 'a' }, { source: 'b' }, { source: 'c' }] },
        { events: [{ source: 'd', queueClass: 'bulk', runAfter: Date.now() + 60_000 }] },
      );
      const items = await at.claim();
      expect(items).toHaveLength(3);
      await at.sql('UPDATE _System_ConnectorWorkItem SET LeaseUntil = 1 WHERE WorkId = ?', [
        items[0]!.lease.workId,
      ]);
      await at.admit({ events: [{ source: 'a' }] }, { events: [{ source: 'e', queueClass: 'interactive' }] });
      const longer = `UPDATE _System_ConnectorWorkItem SET RunAfter = RunAfter - 5000
        WHERE PackId = ? AND QueueClass = 'interactive'`;
      await at.sql(longer, [at.pack.packId]);
      await at.sql(
        "UPDATE _System_ConnectorWorkItem SET State = 'held', LeaseUntil = NULL WHERE WorkId = ?",
        [items[1]!.lease.workId],
      );
      const gauges = await at.store.queueGauges([at.pack.packId, at.pack.packId + 1_000_000]);
      expect(gauges).toMatchObject([
        {
          packId: at.pack.packId,
          processing: 2,
          staleProcessing: 1,
          held: 1,
          oldestReadyMs: { default: null, bulk: null },
        },
      ]);
      expect(gauges[0]!.oldestReadyMs.interactive).toBeGreaterThanOrEqual(5_000);
      expect(gauges[0]!.oldestReadyMs.interactive).toBeLessThan(60_000);
    });

    it('exact statistics follow the predicate where a mark is wrong', async () => {
      await at.admit({ events: [{ source: 'a' }] }, { events: [{ source: 'a' }] });
      await at.sql('UPDATE _System_ConnectorWorkItem SET Readiness = 2 WHERE PackId = ?', [at.pack.packId]);
      const ready = async (exact: boolean) =>
        (await at.store.stats({ exact })).packs.find((entry) => entry.pack === at.pack.pack)!.classes.default!
          .ready;
      expect([await ready(false), await ready(true)]).toEqual([2, 1]);
    });

    it('lists Events page by page and shows one with its items', async () => {
      await at.admit(...['a', 'b', 'c'].map((source) => ({ body: `body ${source}`, events: [{ source }] })));
      const filter = { namespace: 'acme', pack: at.pack.pack };
      const first = await at.store.listEvents({ ...filter, limit: 2 });
      expect(first.items).toHaveLength(2);
      const rest = await at.store.listEvents({ ...filter, limit: 2, cursor: first.next! });
      expect(rest.next).toBeNull();
      const all = [...first.items, ...rest.items];
      expect(all.map((event) => event.sourceKey).sort()).toEqual(['a', 'b', 'c']);
      const b = (await at.store.listEvents({ ...filter, sourceKey: 'b', limit: 9 })).items[0]!;
      expect(b.payloadSha256).toBe(sha256(Buffer.from('body b')).toString('hex'));
      expect(await at.store.showEvent(b.id)).toMatchObject({
        event: { id: b.id, route: 'events', routeVersion: 1, queueClass: 'default', origin: 'webhook' },
        workItems: [
          {
            workType: 'connector_event',
            state: 'pending',
            attempt: 0,
            failures: 0,
            epoch: 0,
            lastError: null,
          },
        ],
      });
      expect(await at.store.showEvent('evt_nobody')).toBeNull();
      expect((await at.store.listEvents({ ...filter, state: 'completed', limit: 9 })).items).toEqual([]);
    });

    it('a stored receipt gives the received bytes back, wherever they stand', async () => {
      const [whole] = await at.admit({ body: 'the body itself' });
      const [sliced] = await at.admit({
        body: '[1,2]',
        events: [
          { source: 'a', payload: '1' },
          { source: 'b', payload: '2' },
        ],
      });
      for (const [result, body] of [
        [whole, 'the body itself'],
        [sliced, '[1,2]'],
      ] as const) {
        const receipt = await at.store.loadReceipt(result!.receiptId);
        expect(Buffer.from(receipt!.body).toString()).toBe(body);
        expect(receipt).toMatchObject({ verification: 'github', method: 'POST', route: 'events' });
        expect(receipt!.bodySha256).toBe(sha256(Buffer.from(body)).toString('hex'));
      }
    });
  });
}
