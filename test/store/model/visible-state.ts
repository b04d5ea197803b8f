import { isDeepStrictEqual } from 'node:util';
import { expect } from 'vitest';
import type { ClaimResult } from '../../../src/store/store.js';
import type { ModelBench } from './model-bench.js';
import type { ModelClaimed, ModelItem, QueueModel } from './queue-model.js';

const PACK = 'PackId = ?';
const ITEMS = `SELECT WorkId, EventId, State, Readiness, RunAfter, LeaseUntil, LeaseToken, OwnershipEpoch, Attempt,
  Failures, Generation, LaneOrdinal, ProjectionActiveKey, ProjectionGeneration, SupersededBy
  FROM _System_ConnectorWorkItem WHERE ${PACK} ORDER BY WorkId`;
const EVENTS = `SELECT EventId, Status, ExecutionOwner, ConflictOf FROM _System_ConnectorEvent WHERE ${PACK}
  ORDER BY EventId`;
const RECEIPTS = `SELECT ReceiptId, QuarantinedDate FROM _System_ConnectorReceipt WHERE ${PACK} ORDER BY ReceiptId`;

interface ItemRow {
  readonly WorkId: string;
  readonly EventId: string;
  readonly State: string;
  readonly Readiness: number;
  readonly RunAfter: number;
  readonly LeaseUntil: number | null;
  readonly LeaseToken: string | null;
  readonly OwnershipEpoch: number;
  readonly Attempt: number;
  readonly Failures: number;
  readonly Generation: number;
  readonly LaneOrdinal: number;
  readonly ProjectionActiveKey: string | null;
  readonly ProjectionGeneration: number | null;
  readonly SupersededBy: string | null;
}

/** What a claim gave, against what the model's gave. */
export function expectClaimed(
  { engine }: ModelBench,
  real: ClaimResult,
  claimed: ModelClaimed,
  model: QueueModel,
): void {
  const seen = real.items.map(({ lease, ...item }) => ({
    workId: lease.workId,
    token: lease.token,
    epoch: lease.epoch,
    until: engine.hourOf(lease.untilMs),
    attempt: item.attempt,
    failures: item.failures,
    generation: item.generation,
    reclaimed: item.reclaimed,
  }));
  const expected = claimed.items.map((item) => ({
    workId: item.workId,
    token: item.token,
    epoch: item.epoch,
    until: item.leaseUntil,
    attempt: item.attempt,
    failures: item.failures,
    generation: item.generation,
    reclaimed: claimed.reclaimed.has(item.workId),
  }));
  expectSame(seen, expected);
  const counted = model.status === 'active' ? model : { processing: [], stale: [] };
  expectSame(
    [real.processing, real.staleProcessing, real.expired],
    [counted.processing.length, counted.stale.length, claimed.expired],
  );
}

/** Everything that is stored, and everything that is derived from it. */
export async function expectAlike(bench: ModelBench, model: QueueModel): Promise<void> {
  const pack = [bench.pack.packId];
  const { rows, hourOf } = bench.engine;
  const items = (await rows(ITEMS, pack)) as unknown as readonly ItemRow[];
  const events = await rows(EVENTS, pack);
  const receipts = await rows(RECEIPTS, pack);
  const seen = {
    items: items.map((row) => seenItem(row, hourOf)),
    events: events.map((row) => [row.EventId, row.Status, row.ExecutionOwner, row.ConflictOf]),
    receipts: receipts.map((row) => [row.ReceiptId, row.QuarantinedDate !== null]),
  };
  const expected = {
    items: [...model.items].sort((a, b) => (a.workId < b.workId ? -1 : 1)).map(expectedItem),
    events: [...model.events]
      .sort()
      .map(([id, { fenced, conflictOf }]) =>
        fenced ? [id, 'skipped', 'work_item', conflictOf] : [id, 'pending', 'event', conflictOf],
      ),
    receipts: [...model.receipts].sort().map(([id, { quarantined }]) => [id, quarantined]),
  };
  expectSame(seen, expected);
  expectMarks(items, model);
  await expectPeek(bench, model);
  await expectStats(bench, model);
}

function seenItem(row: ItemRow, hourOf: (stored: number) => number) {
  return {
    workId: row.WorkId,
    eventId: row.EventId,
    state: row.State,
    runAfter: row.State === 'pending' ? hourOf(row.RunAfter) : null,
    leaseUntil: row.LeaseUntil === null ? null : hourOf(row.LeaseUntil),
    token: row.LeaseToken,
    epoch: row.OwnershipEpoch,
    attempt: row.Attempt,
    failures: row.Failures,
    generation: row.Generation,
    ordinal: row.LaneOrdinal,
    active: row.ProjectionActiveKey !== null,
    projectionGeneration: row.ProjectionGeneration,
    supersededBy: row.SupersededBy,
  };
}

function expectedItem(item: ModelItem) {
  return {
    workId: item.workId,
    eventId: item.eventId,
    state: item.state,
    runAfter: item.state === 'pending' ? item.runAfter : null,
    leaseUntil: item.leaseUntil,
    token: item.token,
    epoch: item.epoch,
    attempt: item.attempt,
    failures: item.failures,
    generation: item.generation,
    ordinal: item.ordinal,
    active: item.active,
    projectionGeneration: item.projectionGeneration,
    supersededBy: item.supersededBy,
  };
}

/** Marks are hints: a false one costs a miss, but a head without one would wait for ever. */
function expectMarks(items: readonly ItemRow[], { heads, now }: QueueModel): void {
  const marks = new Map(items.map((row) => [row.WorkId, row.Readiness]));
  const unmarked = heads.filter((head) => marks.get(head.workId) === 0);
  const early = heads.filter((head) => marks.get(head.workId) === 2 && head.runAfter > now);
  const ids = (list: readonly ModelItem[]) => list.map((item) => item.workId);
  expectSame({ unmarked: ids(unmarked), early: ids(early) }, { unmarked: [], early: [] });
}

/** A peek may see too much, and never too little. */
async function expectPeek({ engine, pack }: ModelBench, model: QueueModel): Promise<void> {
  const { packId, generation } = pack;
  const scope = { packId, generation, claimWorkTypes: [], queueClasses: [] };
  const { ready, nextInMs } = await engine.store.peek(scope);
  const waits = [
    ...model.heads.map((head) => head.runAfter - model.now),
    ...model.processing.map((item) => item.leaseUntil! - model.now),
  ];
  if (ready || waits.length === 0) return;
  const next = Math.min(...waits);
  expect(next, 'hours until there is something, when a peek saw nothing').toBeGreaterThan(0);
  expect(nextInMs).toBeLessThanOrEqual(next * 3_600_000 + 1);
}

async function expectStats({ engine, pack }: ModelBench, model: QueueModel): Promise<void> {
  const { packs } = await engine.store.stats({ exact: true });
  const { classes, generation } = packs.find((other) => other.pack === pack.pack)!;
  const counts = Object.entries(classes).map(([name, { oldestReadyMs: _, ...counted }]) => [name, counted]);
  expectSame(
    { generation, counts: Object.fromEntries(counts) },
    { generation: model.generation, counts: expectedCounts(model) },
  );
}

const NONE = { ready: 0, delayed: 0, blocked: 0, queued: 0, processing: 0, stale: 0 };
const ENDS = { held: 0, completed: 0, skipped: 0, dead: 0, coalesced: 0 };

function expectedCounts(model: QueueModel) {
  const counts: Record<string, typeof NONE & typeof ENDS> = {};
  const [heads, stale] = [new Set(model.heads), new Set(model.stale)];
  for (const item of model.items) {
    counts[item.queueClass] ??= { ...NONE, ...ENDS };
    counts[item.queueClass]![place(item)]++;
  }
  return counts;

  function place(item: ModelItem): keyof typeof NONE | keyof typeof ENDS {
    if (item.state === 'processing') return stale.has(item) ? 'stale' : 'processing';
    if (item.state !== 'pending') return item.state;
    if (item.projection !== null && !item.active) return 'queued';
    if (!heads.has(item)) return 'blocked';
    return item.runAfter > model.now ? 'delayed' : 'ready';
  }
}

/** As `toEqual`, which takes its time where there is nothing to tell. */
function expectSame(seen: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(seen, expected)) expect(seen).toEqual(expected);
}
