import { describe, expect, it } from 'vitest';
import type { InstalledPack } from '../../src/store/store.js';
import { draftReceipt } from '../support/drafts.js';
import type { Engine } from './engine.js';
import { claimRequest, ITEM, useStore } from './fixture.js';

/** Two packs in one database know nothing of each other. */
export function packCases(engine: Engine): void {
  describe('packs side by side', () => {
    const at = useStore(engine);
    const another = async (): Promise<InstalledPack> => {
      const { namespace, pack, version } = at.pack;
      const [other] = await at.store.installPacks([{ namespace, pack: `${pack}-beside`, version }]);
      return other!;
    };
    const admitTo = async (pack: InstalledPack) => {
      const receipts = [draftReceipt(pack, { events: [{ source: 'a' }] })];
      await at.store.materialize({ packId: pack.packId, namespace: pack.namespace, receipts });
    };

    it('[MAT-1] number their items each by itself', async () => {
      const other = await another();
      await at.admit({}, {}, {});
      await admitTo(other);
      await at.admit({});
      const ordinals = (await at.item('1 = 1')).map((row) => Number(row.LaneOrdinal) - 2 ** 40);
      expect(ordinals).toEqual([0, 1, 2, 3]);
    });

    it('[SCH-4] [DRN-1] claim their own items, under their own budget', async () => {
      const other = await another();
      await at.admit({ events: [{ source: 'a' }] }, { events: [{ source: 'b' }] });
      await admitTo(other);
      const [running] = await at.claim({ maxClaims: 1 });
      const result = await at.store.claim(claimRequest(other, { processingBudget: 1 }));
      expect(result).toMatchObject({ processing: 1, misses: 0 });
      expect(result.items).toHaveLength(1);
      expect(result.items[0]!.eventId).not.toBe(running!.eventId);
      expect(await at.claim()).toHaveLength(1);
    });

    it('[OWN-5] [EXE-4] end the leases of their own items alone', async () => {
      const other = await another();
      await at.admit({});
      const [held] = await at.claim();
      await at.sql(`UPDATE ${ITEM} SET LeaseUntil = 1 WHERE PackId = ?`, [at.pack.packId]);
      for (const claimed of [
        await at.store.claim(claimRequest(other)),
        await at.store.reclaimStale(claimRequest(other)),
      ])
        expect(claimed).toMatchObject({ items: [], expired: 0, processing: 0 });
      expect(await at.item("State = 'processing'")).toMatchObject([{ Failures: 0 }]);
      expect(await at.finish([held!])).toMatchObject([{ lost: false, state: 'completed' }]);
    });
  });
}
