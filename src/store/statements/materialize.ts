import { marks, reading, repeated, writing } from '../statement.js';
import { EVENT, IDEMPOTENCY, PROJECTION, RECEIPT, TRACE, WORK_ITEM } from './tables.js';

const MAX_ROWS = 64;
const values = (columns: number, size: number) => repeated(`(${marks(columns)})`, size);

// ── idempotency keys ─────────────────────────────────────────────────────────────────────────────────────

export interface KeyRow {
  readonly IdempotencyKey: Uint8Array;
  readonly ContentHash: Uint8Array;
  readonly ReceiptId: string;
  readonly EventId: string | null;
}

export const insertKeys = writing(
  'materialize.insertKeys',
  (_, n) => `INSERT INTO ${IDEMPOTENCY}
    (IdempotencyKey, PackId, ContentHash, ReceiptId, EventId, FirstSeenDate, LastSeenDate) VALUES ${values(7, n)}`,
  MAX_ROWS,
);

/** A current read: a plain one inside an old snapshot would miss the winner (MAT-2). */
export const currentKeys = reading(
  'materialize.currentKeys',
  (d, n) => `SELECT IdempotencyKey, ContentHash, ReceiptId, EventId FROM ${IDEMPOTENCY}
    WHERE IdempotencyKey IN (${marks(n)}) ORDER BY IdempotencyKey${d.forUpdate}`,
  MAX_ROWS,
);

export const countDuplicates = writing(
  'materialize.countDuplicates',
  (d, n) => `UPDATE ${IDEMPOTENCY} SET Duplicates = Duplicates + 1, LastSeenDate = ${d.now}
    WHERE IdempotencyKey IN (${marks(n)})`,
  MAX_ROWS,
);

export const pointKeyAt = writing(
  'materialize.pointKeyAt',
  () => `UPDATE ${IDEMPOTENCY} SET EventId = ?, ReceiptId = ? WHERE IdempotencyKey = ?`,
);

// ── receipts ─────────────────────────────────────────────────────────────────────────────────────────────

export const insertReceipts = writing(
  'materialize.insertReceipts',
  (_, n) => `INSERT INTO ${RECEIPT}
    (ReceiptId, PackId, Route, Method, Target, Headers, Body, BodyEventId, BodyHash, BodyBytes, Verification,
     EventCount, QuarantinedDate, LastErrorCode, LastError, ReceivedDate, CreatedDate) VALUES ${values(17, n)}`,
  MAX_ROWS,
);

export const insertTraces = writing(
  'materialize.insertTraces',
  (_, n) => `INSERT INTO ${TRACE} (ReceiptId, TraceContext) VALUES ${values(2, n)}`,
  MAX_ROWS,
);

export const lockReceipt = reading(
  'materialize.lockReceipt',
  (d) => `SELECT ReceiptId, PackId, QuarantinedDate FROM ${RECEIPT} WHERE ReceiptId = ?${d.forUpdate}`,
);

export const leaveQuarantine = writing(
  'materialize.leaveQuarantine',
  () => `UPDATE ${RECEIPT} SET QuarantinedDate = NULL, LastErrorCode = NULL, LastError = NULL, EventCount = ?,
      BodyEventId = ? WHERE ReceiptId = ? AND QuarantinedDate IS NOT NULL`,
);

export const stayInQuarantine = writing(
  'materialize.stayInQuarantine',
  () =>
    `UPDATE ${RECEIPT} SET LastErrorCode = ?, LastError = ? WHERE ReceiptId = ? AND QuarantinedDate IS NOT NULL`,
);

// ── events ───────────────────────────────────────────────────────────────────────────────────────────────

export interface EventIdentityRow {
  readonly EventId: string;
  readonly ReceiptId: string | null;
  readonly IdempotencyKey: Uint8Array;
  readonly ContentHash: Uint8Array | null;
}

export const insertEvents = writing(
  'materialize.insertEvents',
  (_, n) => `INSERT INTO ${EVENT}
    (EventId, PackId, ReceiptId, EventType, SourceKey, DeliveryKey, DeliveryOrdinal, Route, RouteVersion,
     IdempotencyKey, ContentHash, QueueClass, ConflictOf, ReceivedDate, CreatedDate, Status, ExecutionOwner,
     Companion, Payload) VALUES ${values(19, n)}`,
  MAX_ROWS,
);

export const currentEvents = reading(
  'materialize.currentEvents',
  (d, n) => `SELECT EventId, ReceiptId, IdempotencyKey, ContentHash FROM ${EVENT}
    WHERE IdempotencyKey IN (${marks(n)}) ORDER BY EventId${d.forUpdate}`,
  MAX_ROWS,
);

export const selectPayload = reading(
  'materialize.selectPayload',
  () => `SELECT Payload FROM ${EVENT} WHERE EventId = ?`,
);

/** Which known Events still stand without their WorkItem. Plain: a stale answer is caught by the unique key. */
export const uncoveredEvents = reading(
  'materialize.uncoveredEvents',
  (_, n) => `SELECT e.EventId AS EventId FROM ${EVENT} e
    LEFT JOIN ${WORK_ITEM} w ON w.EventId = e.EventId AND w.WorkType = 'connector_event'
    WHERE e.EventId IN (${marks(n)}) AND w.WorkId IS NULL`,
  MAX_ROWS,
);

export const lockEvent = reading(
  'materialize.lockEvent',
  (d) => `SELECT EventId FROM ${EVENT} WHERE EventId = ?${d.forUpdate}`,
);

/** LEG-7: an Event whose item ends without a claim never enters either queue again. */
export const fenceEvent = writing(
  'materialize.fenceEvent',
  () => `UPDATE ${EVENT} SET ExecutionOwner = 'work_item', Status = 'skipped'
    WHERE EventId = ? AND ExecutionOwner = 'event' AND Status IN ('pending', 'failed')`,
);

// ── work items ───────────────────────────────────────────────────────────────────────────────────────────

/** What must be equal for two writers to have meant the same item (MAT-4). */
export interface WorkIdentityRow {
  readonly WorkId: string;
  readonly PackId: number;
  readonly EventId: string;
  readonly WorkType: string;
  readonly LaneKey: string | null;
  readonly DeliveryLaneKey: string | null;
  readonly TargetLaneKey: string | null;
  readonly QueueClass: string;
  readonly Route: string;
  readonly RouteVersion: number;
  readonly ProjectionKey: string | null;
  readonly IdempotencyKey: Uint8Array;
}

export const insertWorkItems = writing(
  'materialize.insertWorkItems',
  (_, n) => `INSERT INTO ${WORK_ITEM}
    (WorkId, PackId, Generation, EventId, WorkType, Route, RouteVersion, QueueClass, IdempotencyKey, State,
     Readiness, RunAfter, FailureBudget, OnDead, LaneKey, LaneOrdinal, DeliveryLaneKey, DeliveryOrdinal,
     TargetLaneKey, ProjectionKey, ProjectionActiveKey, ProjectionGeneration, SupersededBy, LastErrorCode,
     LastError, CreatedDate, TerminalDate) VALUES ${values(27, n)}`,
  MAX_ROWS,
);

export const currentWorkItems = reading(
  'materialize.currentWorkItems',
  (
    d,
    n,
  ) => `SELECT WorkId, PackId, EventId, WorkType, LaneKey, DeliveryLaneKey, TargetLaneKey, QueueClass, Route,
      RouteVersion, ProjectionKey, IdempotencyKey
    FROM ${WORK_ITEM} WHERE EventId IN (${marks(n)}) AND WorkType = 'connector_event'
    ORDER BY EventId${d.forUpdate}`,
  MAX_ROWS,
);

/** The last open item of each lane before an ordinal: whom a new item would wait for. Plain; its row is locked next. */
const tailsOf = (column: string) => (_: unknown, n: number) =>
  repeated(
    `SELECT * FROM (SELECT WorkId, ${column} AS Lane FROM ${WORK_ITEM}
      WHERE ${column} = ? AND LaneRank < ? ORDER BY LaneRank DESC LIMIT 1) q`,
    n,
    ' UNION ALL ',
  );

export const sourceTails = reading('materialize.sourceTails', tailsOf('LaneOpenKey'), 32);
export const deliveryTails = reading('materialize.deliveryTails', tailsOf('DeliveryOpenKey'), 32);
export const targetTails = reading('materialize.targetTails', tailsOf('TargetOpenKey'), 32);

/** Of these rows, those that are open and take part in their lanes; locked, so that they cannot end before we commit. */
export const lockOpenItems = reading(
  'materialize.lockOpenItems',
  (d, n) => `SELECT WorkId, LaneRank FROM ${WORK_ITEM}
    WHERE WorkId IN (${marks(n)}) AND Bucket IS NOT NULL AND Bucket <> 'queued' ORDER BY WorkId${d.forUpdate}`,
  MAX_ROWS,
);

// ── projections ──────────────────────────────────────────────────────────────────────────────────────────

export const lockProjection = reading(
  'materialize.lockProjection',
  (d) => `SELECT Generation FROM ${PROJECTION} WHERE ProjectionKey = ?${d.forUpdate}`,
);

export const insertProjection = writing(
  'materialize.insertProjection',
  () => `INSERT INTO ${PROJECTION} (ProjectionKey, PackId, Route, SourceKey, Generation, CreatedDate)
    VALUES (?, ?, ?, ?, ?, ?)`,
);

export const advanceProjection = writing(
  'materialize.advanceProjection',
  () => `UPDATE ${PROJECTION} SET Generation = ? WHERE ProjectionKey = ?`,
);

/** Locks the active generation, so that it cannot hand off while its successor is being queued. */
export const lockActiveGeneration = reading(
  'materialize.lockActiveGeneration',
  (d) => `SELECT WorkId FROM ${WORK_ITEM} WHERE ProjectionActiveKey = ?${d.forUpdate}`,
);

export const findQueuedGeneration = reading(
  'materialize.findQueuedGeneration',
  () => `SELECT WorkId, EventId, QueueClass FROM ${WORK_ITEM} WHERE ProjectionQueuedKey = ?`,
);

export const lockQueuedGeneration = reading(
  'materialize.lockQueuedGeneration',
  (d) => `SELECT WorkId, EventId, QueueClass FROM ${WORK_ITEM} WHERE ProjectionQueuedKey = ?${d.forUpdate}`,
);

export const coalesceQueuedGeneration = writing(
  'materialize.coalesceQueuedGeneration',
  (d) => `UPDATE ${WORK_ITEM} SET State = 'coalesced', SupersededBy = ?, TerminalDate = ${d.now}
    WHERE WorkId = ? AND State = 'pending' AND ProjectionActiveKey IS NULL`,
);
