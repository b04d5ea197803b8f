import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { newLeaseToken } from '../../src/core/ids.js';
import type { Outcome } from '../../src/core/outcome.js';
import { systemRandom } from '../../src/core/system.js';
import type {
  ActionRecord,
  ClaimedItem,
  ClaimRequest,
  FinalizeResult,
  InstalledPack,
  MaterializeResult,
  StepOptions,
  WorkAction,
  WorkFilter,
  WorkRequest,
} from '../../src/store/store.js';
import { draftReceipt, newId, type ReceiptSketch } from '../support/drafts.js';
import type { Engine, OpenedStore } from './engine.js';

const random = systemRandom();

/** What the cases speak: one pack of its own per test, verbs with sensible defaults. */
export interface Fixture extends OpenedStore {
  pack: InstalledPack;
  admit(...sketches: ReceiptSketch[]): Promise<MaterializeResult[]>;
  claim(changes?: Partial<ClaimRequest>): Promise<readonly ClaimedItem[]>;
  finish(items: readonly ClaimedItem[], outcome?: Outcome): Promise<readonly FinalizeResult[]>;
  /** What a person asks for, step by step to its end. */
  act(
    kind: WorkAction,
    filter: WorkFilter,
    changes?: Partial<WorkRequest> & StepOptions,
  ): Promise<ActionRecord>;
  /** Claims and completes until nothing is left; source keys in start order. */
  drain(): Promise<string[]>;
  item(where: string, ...params: unknown[]): Promise<Record<string, never>[]>;
}

export function claimRequest(pack: InstalledPack, changes: Partial<ClaimRequest> = {}): ClaimRequest {
  return {
    packId: pack.packId,
    generation: pack.generation,
    claimWorkTypes: [],
    queueClasses: [],
    preference: [],
    maxClaims: 50,
    leaseMs: 60_000,
    processingBudget: 256,
    mode: 'any',
    token: newLeaseToken(random),
    holder: 'test',
    ...changes,
  };
}

export function useStore(engine: Engine): Fixture {
  let count = 0;
  const fixture = {} as Fixture;
  beforeAll(async () => {
    Object.assign(fixture, await engine.open());
  });
  afterAll(async () => {
    await fixture.close();
  });
  beforeEach(async () => {
    [fixture.pack] = (await fixture.store.installPacks([
      { namespace: 'acme', pack: `pack-${++count}`, version: '1.0.0' },
    ])) as [InstalledPack];
  });
  afterEach(async () => {
    expect(await tallyErrors(fixture), '[STA-1] what the tally is wrong about').toEqual([]);
    expect(await failureErrors(fixture), 'failures of items that have not failed, or are gone').toEqual([]);
  });
  const admit: Fixture['admit'] = async (...sketches) => {
    const { packId, namespace } = fixture.pack;
    const receipts = sketches.map((sketch) => draftReceipt(fixture.pack, sketch));
    const results = await fixture.store.materialize({ packId, namespace, receipts });
    if ('refused' in results) throw new Error(results.refused);
    return [...results];
  };
  const claim: Fixture['claim'] = async (changes) =>
    (await fixture.store.claim(claimRequest(fixture.pack, changes))).items;
  const act: Fixture['act'] = async (kind, filter, { limit, ...changes } = {}) => {
    const asked = { actionId: newId('act'), actor: 'ada', reason: 'a case', kind, filter, ...changes };
    for (;;) {
      const { action } = await fixture.store.act(asked, limit === undefined ? {} : { limit });
      if (action.status === 'finished') return action;
    }
  };
  const finish: Fixture['finish'] = (items, outcome = { kind: 'completed' }) =>
    fixture.store.finalize(items.map((item) => ({ lease: item.lease, outcome })));
  return Object.assign(fixture, {
    admit,
    claim,
    act,
    finish,
    async drain() {
      const order: string[] = [];
      for (;;) {
        const items = await claim();
        if (items.length === 0) return order;
        const events = await fixture.store.loadEvents(items.map((item) => item.eventId));
        order.push(...events.map((event) => event!.sourceKey));
        await finish(items);
      }
    },
    item: (where: string, ...params: unknown[]) =>
      fixture.sql<Record<string, never>>(
        `SELECT * FROM _System_ConnectorWorkItem WHERE PackId = ? AND ${where} ORDER BY LaneOrdinal`,
        [fixture.pack.packId, ...params],
      ),
  });
}

export const count = async (fixture: Fixture, table: string, where = '1 = 1'): Promise<number> => {
  const rows = await fixture.sql<{ n: number }>(
    `SELECT COUNT(*) AS n FROM ${table} WHERE PackId = ? AND ${where}`,
    [fixture.pack.packId],
  );
  return Number(rows[0]!.n);
};

/** Where the counts of ended items, kept as they end, differ from the items themselves. */
async function tallyErrors(fixture: Fixture): Promise<unknown[]> {
  const group = 'GROUP BY PackId, QueueClass, State';
  return await fixture.sql(
    `SELECT PackId, QueueClass, State, SUM(Kept) AS Kept, SUM(Counted) AS Counted FROM (
      SELECT PackId, QueueClass, State, SUM(Total) AS Kept, 0 AS Counted FROM ${TALLY} WHERE PackId = ? ${group}
      UNION ALL
      SELECT PackId, QueueClass, State, 0 AS Kept, COUNT(*) AS Counted FROM ${ITEM}
        WHERE PackId = ? AND State IN ('completed', 'skipped', 'dead', 'coalesced') ${group}) both_sides
      ${group} HAVING SUM(Kept) <> SUM(Counted)`,
    [fixture.pack.packId, fixture.pack.packId],
  );
}

/** Whoever ends, decides or removes an item takes its failure away with it. */
const failureErrors = (fixture: Fixture) =>
  fixture.sql(
    `SELECT f.WorkId, w.State, w.ReplayedAt FROM ${FAILURE} f LEFT JOIN ${ITEM} w ON w.WorkId = f.WorkId
      WHERE f.PackId = ? AND (w.State IS NULL OR w.State NOT IN ('dead', 'held') OR w.ReplayedAt IS NOT NULL)`,
    [fixture.pack.packId],
  );

/** For a case that ends or removes items by hand: the tally could not know. */
export async function recountByHand(fixture: Fixture): Promise<void> {
  const pack = [fixture.pack.packId];
  await fixture.sql(`DELETE FROM ${TALLY} WHERE PackId = ?`, pack);
  await fixture.sql(
    `INSERT INTO ${TALLY} (PackId, QueueClass, State, Slot, Total) SELECT PackId, QueueClass, State, 0, COUNT(*)
      FROM ${ITEM} WHERE PackId = ? AND State IN ('completed', 'skipped', 'dead', 'coalesced')
      GROUP BY PackId, QueueClass, State`,
    pack,
  );
}

export const EVENT = '_System_ConnectorEvent';
export const ITEM = '_System_ConnectorWorkItem';
export const RECEIPT = '_System_ConnectorReceipt';
export const KEY = '_System_ConnectorIdempotency';
export const REPLAY = '_System_ConnectorReplay';
export const FAILURE = '_System_ConnectorFailure';
const TALLY = '_System_ConnectorTally';
