import { LaneheadError } from '../../core/errors.js';
import { sha256 } from '../../core/identity.js';
import type { WorkError } from '../../core/outcome.js';
import type { WorkItemState } from '../../core/work.js';
import { type Plan, read } from '../plan.js';
import { childOf } from '../statements/replay.js';
import * as sql from '../statements/reports.js';
import type {
  ClassStats,
  EventDetail,
  EventFilter,
  EventSummary,
  PackStats,
  Page,
  QueueGauge,
  ReceiptFilter,
  ReceiptSummary,
  Stats,
  StoredReceipt,
  WorkItemView,
} from '../store.js';
import { ids, readList } from './batches.js';
import { payloadsOf } from './payloads.js';

// ── statistics ───────────────────────────────────────────────────────────────────────────────────────────

type Counts = { -readonly [K in keyof ClassStats]: ClassStats[K] };

const emptyCounts = (): Counts => ({
  ready: 0,
  delayed: 0,
  blocked: 0,
  queued: 0,
  processing: 0,
  stale: 0,
  held: 0,
  completed: 0,
  skipped: 0,
  dead: 0,
  coalesced: 0,
  oldestReadyMs: null,
});

export function* stats(exact: boolean): Plan<Stats> {
  const rows = yield* read<sql.StatsRow>(exact ? sql.countByPredicate : sql.countByMark);
  const packs = new Map<string, { head: sql.StatsRow; classes: Record<string, Counts> }>();
  for (const row of rows) {
    const key = `${row.Namespace}/${row.Pack}`;
    const pack = packs.get(key) ?? { head: row, classes: {} };
    packs.set(key, pack);
    if (row.QueueClass === null || row.State === null) continue;
    pack.classes[row.QueueClass] ??= emptyCounts();
    addRow(pack.classes[row.QueueClass]!, row);
  }
  return { at: rows[0]?.Now ?? 0, exact, packs: [...packs.values()].map(toPackStats) };
}

function addRow(counts: Counts, row: sql.StatsRow): void {
  const total = Number(row.Total);
  const state = row.State as WorkItemState;
  if (state === 'processing') {
    const stale = Number(row.Stale);
    counts.stale += stale;
    counts.processing += total - stale;
  } else if (state !== 'pending') {
    counts[state] += total;
  } else if (row.Bucket?.startsWith('ready:')) {
    counts.ready += total;
    const age = Math.max(0, row.Now - row.OldestRunAfter!);
    counts.oldestReadyMs = Math.max(counts.oldestReadyMs ?? 0, age);
  } else {
    counts[row.Bucket as 'delayed' | 'blocked' | 'queued'] += total;
  }
}

function toPackStats({ head, classes }: { head: sql.StatsRow; classes: Record<string, Counts> }): PackStats {
  return { namespace: head.Namespace, pack: head.Pack, generation: head.Generation, classes };
}

export function* queueGauges(packIds: readonly number[]): Plan<QueueGauge[]> {
  const rows = yield* readList<sql.QueueGaugeRow>(sql.queueGauges, ids(packIds));
  return rows.map((row) => {
    const waitedMs = (due: number | null) => (due === null ? null : Math.max(0, row.Now - due));
    return {
      packId: row.PackId,
      processing: Number(row.Processing),
      staleProcessing: Number(row.Stale),
      held: Number(row.Held),
      oldestReadyMs: {
        interactive: waitedMs(row.Interactive),
        default: waitedMs(row.Standard),
        bulk: waitedMs(row.Bulk),
      },
    };
  });
}

export function* coverageStep(cursor: string | null): Plan<{ gaps: number; cursor: string | null }> {
  const rows = yield* read<{ EventId: string; WorkId: string | null }>(sql.coverageOf, [cursor ?? '']);
  return { gaps: rows.filter((row) => row.WorkId === null).length, cursor: rows.at(-1)?.EventId ?? null };
}

// ── events ───────────────────────────────────────────────────────────────────────────────────────────────

export function* listEvents(
  filter: EventFilter,
): Plan<Page<EventSummary & { readonly state: WorkItemState | null }>> {
  const { namespace = null, pack = null, state = null, sourceKey = null } = filter;
  const rows = yield* read<sql.EventReportRow>(sql.listEvents, [
    filter.cursor ?? '',
    ...[namespace, namespace, pack, pack, state, state, sourceKey, sourceKey],
  ]);
  const { page, next } = cut(rows, filter.limit, (row) => row.EventId);
  const rowsOfPage = yield* readList<{ EventId: string; ReceiptId: string | null; Payload: Uint8Array }>(
    sql.selectPayloads,
    ids(page.map((row) => row.EventId)),
  );
  const payloads = yield* payloadsOf(rowsOfPage);
  const items = page.map((row) => ({
    ...toEventSummary(row, payloads.get(row.EventId)),
    state: row.State as WorkItemState | null,
  }));
  return { items, next };
}

export function* showEvent(eventId: string): Plan<EventDetail | null> {
  const [row] = yield* read<sql.EventReportRow & { Payload: Uint8Array }>(sql.showEvent, [eventId]);
  if (row === undefined) return null;
  const items = yield* read<sql.WorkReportRow>(sql.showWorkItems, [eventId]);
  const [replayed] = yield* read<{ ChildId: string }>(childOf, [eventId]);
  return {
    event: toEventSummary(row, (yield* payloadsOf([row])).get(eventId)),
    childId: replayed?.ChildId ?? null,
    workItems: items.map(toWorkItemView),
  };
}

function toEventSummary(row: sql.EventReportRow, payload: Uint8Array | undefined): EventSummary {
  return {
    id: row.EventId,
    receipt: row.ReceiptId,
    namespace: row.Namespace,
    pack: row.Pack,
    type: row.EventType,
    sourceKey: row.SourceKey,
    deliveryKey: row.DeliveryKey,
    ordinal: row.DeliveryOrdinal,
    route: row.Route,
    routeVersion: row.RouteVersion,
    queueClass: row.QueueClass,
    origin: row.Origin as EventSummary['origin'],
    parentId: row.ParentId,
    conflictOf: row.ConflictOf,
    receivedAt: row.ReceivedDate,
    payloadSha256: payload === undefined ? '' : sha256(payload).toString('hex'),
  };
}

function toWorkItemView(row: sql.WorkReportRow): WorkItemView {
  return {
    workId: row.WorkId,
    workType: row.WorkType,
    state: row.State as WorkItemState,
    attempt: row.Attempt,
    failures: row.Failures,
    runAfter: row.RunAfter,
    leaseUntil: row.LeaseUntil,
    epoch: row.OwnershipEpoch,
    laneKey: row.LaneKey,
    laneOrdinal: row.LaneOrdinal,
    supersededBy: row.SupersededBy,
    lastError: toError(row.LastErrorCode, row.LastError),
  };
}

const toError = (code: string | null, message: string | null): WorkError | null =>
  code === null ? null : { code, message: message ?? '' };

// ── receipts ─────────────────────────────────────────────────────────────────────────────────────────────

export function* listReceipts(filter: ReceiptFilter): Plan<Page<ReceiptSummary>> {
  const { namespace = null, pack = null, status = null } = filter;
  const rows = yield* read<sql.ReceiptReportRow>(sql.listReceipts, [
    filter.cursor ?? '',
    ...[namespace, namespace, pack, pack, status, status],
  ]);
  const { page, next } = cut(rows, filter.limit, (row) => row.ReceiptId);
  return { items: page.map(toReceiptSummary), next };
}

export function* loadReceipt(receiptId: string): Plan<StoredReceipt | null> {
  const [row] = yield* read<sql.StoredReceiptRow>(sql.loadReceipt, [receiptId]);
  if (row === undefined) return null;
  if (row.Body === null) throw new LaneheadError('not_found', `the body of receipt ${receiptId} was pruned`);
  return {
    ...toReceiptSummary(row),
    packId: row.PackId,
    method: row.Method,
    target: row.Target,
    headers: JSON.parse(row.Headers) as [string, string][],
    body: row.Body,
    verification: row.Verification,
  };
}

function toReceiptSummary(row: sql.ReceiptReportRow): ReceiptSummary {
  return {
    id: row.ReceiptId,
    namespace: row.Namespace,
    pack: row.Pack,
    route: row.Route,
    status: row.QuarantinedDate === null ? 'materialized' : 'quarantined',
    events: row.EventCount,
    bodyBytes: row.BodyBytes,
    bodySha256: Buffer.from(row.BodyHash).toString('hex'),
    receivedAt: row.ReceivedDate,
    error: toError(row.LastErrorCode, row.LastError),
  };
}

/** At most `limit` rows, and the cursor of the rest. */
function cut<R>(
  rows: readonly R[],
  limit: number,
  idOf: (row: R) => string,
): { page: R[]; next: string | null } {
  const page = rows.slice(0, Math.max(1, Math.min(limit, sql.PAGE_LIMIT)));
  return { page, next: rows.length > page.length ? idOf(page[page.length - 1]!) : null };
}
