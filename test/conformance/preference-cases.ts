import { describe, expect, it } from 'vitest';
import type { QueueClass } from '../../src/core/work.js';
import type { ClaimedItem, ClaimRequest } from '../../src/store/store.js';
import type { Engine } from './engine.js';
import { claimRequest, ITEM, useStore } from './fixture.js';

/** Eligibility by class is hard, preference is soft, and neither passes a lane (QCL). */
export function preferenceCases(engine: Engine): void {
  describe('queue classes', () => {
    const at = useStore(engine);

    /** One event each of sources named after their class and their place. */
    const admit = (...queueClasses: QueueClass[]) =>
      at.admit(
        ...queueClasses.map((queueClass, place) => ({
          events: [{ source: `${queueClass}-${place}`, queueClass }],
        })),
      );

    const names = async (items: readonly ClaimedItem[]): Promise<string[]> => {
      const events = await at.store.loadEvents(items.map((item) => item.eventId));
      return events.map((event) => event!.sourceKey);
    };

    const claimNames = async (changes: Partial<ClaimRequest>) => names(await at.claim(changes));

    it('[QCL-3] [QCL-6] preferred heads come first, and what they leave free is filled from the rest', async () => {
      await admit('bulk', 'interactive', 'default', 'interactive', 'bulk');
      expect(await claimNames({ preference: ['interactive'], maxClaims: 3 })).toEqual([
        'interactive-1',
        'interactive-3',
        'bulk-0',
      ]);
      expect(await claimNames({ preference: ['interactive'], maxClaims: 3 })).toEqual([
        'default-2',
        'bulk-4',
      ]);
    });

    it('[QCL-1] [QCL-6] a preference for a class outside of the filter changes nothing', async () => {
      await admit('bulk', 'default', 'interactive');
      const changes: Partial<ClaimRequest> = {
        queueClasses: ['interactive', 'default'],
        preference: ['bulk'],
      };
      expect(await claimNames(changes)).toEqual(['default-1', 'interactive-2']);
    });

    it('[QCL-4] within a tier it is the order of LaneOrdinal, whatever the class and whenever it was due', async () => {
      await admit('bulk', 'default', 'bulk', 'interactive', 'default');
      await at.sql(
        `UPDATE ${ITEM} SET RunAfter = RunAfter - 5000 WHERE PackId = ? AND QueueClass = 'default'`,
        [at.pack.packId],
      );
      expect(await claimNames({ preference: ['bulk', 'default'] })).toEqual([
        'bulk-0',
        'default-1',
        'bulk-2',
        'default-4',
        'interactive-3',
      ]);
    });

    it('[QCL-4] between equal ordinals it is RunAfter, then CreatedDate, then WorkId', async () => {
      await admit('default', 'default', 'default', 'default');
      const ids = (await at.item('1 = 1')).map((row) => String(row.WorkId));
      const set = (workId: string, runAfter: number, created: number) =>
        at.sql(`UPDATE ${ITEM} SET LaneOrdinal = 7, RunAfter = ?, CreatedDate = ? WHERE WorkId = ?`, [
          runAfter,
          created,
          workId,
        ]);
      const [low, high] = [ids[2]!, ids[3]!].sort();
      await set(ids[0]!, 3_000, 1_000);
      await set(ids[1]!, 2_000, 2_000);
      await set(low!, 2_000, 1_000);
      await set(high!, 2_000, 1_000);
      const claimed = await at.claim();
      expect(claimed.map(({ lease }) => lease.workId)).toEqual([low, high, ids[1], ids[0]]);
    });

    it('[QCL-5] a preference passes no lane: neither of a source, nor of a target, nor of a delivery', async () => {
      await at.admit(
        { events: [{ source: 'a', queueClass: 'bulk' }] },
        { events: [{ source: 'a', queueClass: 'interactive' }] },
        { events: [{ source: 'b', target: 't', queueClass: 'bulk' }] },
        { events: [{ source: 'c', target: 't', queueClass: 'interactive' }] },
        {
          ordering: 'strict',
          events: [
            { source: 'd', queueClass: 'bulk' },
            { source: 'e', queueClass: 'interactive' },
          ],
        },
      );
      // Marks that say too much are no way past a lane either.
      await at.sql(`UPDATE ${ITEM} SET Readiness = 2 WHERE PackId = ?`, [at.pack.packId]);
      const heads = await at.claim({ preference: ['interactive'] });
      expect(await names(heads)).toEqual(['a', 'b', 'd']);
      expect(new Set(heads.map(({ queueClass }) => queueClass))).toEqual(new Set(['bulk']));
      await at.finish(heads);
      expect(await claimNames({ preference: ['interactive'] })).toEqual(['a', 'c', 'e']);
    });

    it('[QCL-7] without a preference the oldest comes first, of whatever class', async () => {
      await admit('bulk', 'interactive', 'default');
      expect(await claimNames({ preference: [] })).toEqual(['bulk-0', 'interactive-1', 'default-2']);
    });

    it('[QCL-7] a takeover knows no preference: whose lease ended first is taken first', async () => {
      await admit('interactive', 'bulk', 'default');
      const held = await at.claim();
      for (const [place, { lease }] of held.entries()) {
        await at.sql(`UPDATE ${ITEM} SET LeaseUntil = ? WHERE WorkId = ?`, [10 - place, lease.workId]);
      }
      const request = claimRequest(at.pack, { preference: ['interactive'] });
      const { items } = await at.store.reclaimStale(request);
      expect(await names(items)).toEqual(['default-2', 'bulk-1', 'interactive-0']);
    });
  });
}
