import { marks, reading, repeated, writing } from '../statement.js';
import { blockedAmong } from './lanes.js';
import { EVENT, LIMIT, PACK, RECEIPT, TRACE, WORK_ITEM } from './tables.js';

const MAX_ITEMS = 256;

/** Rows one scan reads per class and work type; a literal, because MySQL refuses `LIMIT ?` in a prepared statement. */
export const SCAN_LIMIT = 256;

// ── looking ──────────────────────────────────────────────────────────────────────────────────────────────

export interface DrainRow {
  readonly Status: string;
  readonly Now: number;
  readonly Processing: number;
  readonly Stale: number;
  /** 1: some delayed item has come due. */
  readonly Due: number;
}

const OPEN = `FROM ${WORK_ITEM} WHERE PackId = p.PackId
  AND WorkType IN ('connector_event', 'workflow_action_apply') AND Bucket =`;

/** How full the pack's processing budget is, and what else there is to do. Bounded by the budget, not by the backlog. */
export const drainState = reading(
  'claim.drainState',
  (d) => `SELECT p.Status AS Status, ${d.now} AS Now,
      (SELECT COUNT(*) ${OPEN} 'processing') AS Processing,
      (SELECT COUNT(*) ${OPEN} 'processing' AND BucketOrder < ${d.now}) AS Stale,
      EXISTS (SELECT 1 ${OPEN} 'delayed' AND BucketOrder <= ${d.now}) AS Due
    FROM ${PACK} p WHERE p.PackId = ?`,
);

export interface CandidateRow {
  readonly WorkId: string;
  readonly EventId: string;
  readonly Route: string;
  readonly RouteVersion: number;
  readonly LaneKey: string | null;
  readonly DeliveryLaneKey: string | null;
  readonly TargetLaneKey: string | null;
  readonly LaneOrdinal: number;
  readonly RunAfter: number;
  readonly CreatedDate: number;
}

const CANDIDATE =
  'WorkId, EventId, Route, RouteVersion, LaneKey, DeliveryLaneKey, TargetLaneKey, LaneOrdinal, RunAfter, CreatedDate';

/** Ready heads of one (work type, class) after a cursor, in the order of QCL-4. Parameters: pack, type, bucket, cursor. */
export const scanReady = reading(
  'claim.scanReady',
  () => `SELECT ${CANDIDATE} FROM ${WORK_ITEM}
    WHERE PackId = ? AND WorkType = ? AND Bucket = ? AND BucketOrder > ?
    ORDER BY BucketOrder, RunAfter, CreatedDate, WorkId LIMIT ${SCAN_LIMIT}`,
);

/** Expired leases of the eligible classes, oldest first (QCL-1, QCL-7). Parameters: pack, type, class × 3. */
export const scanStale = reading(
  'claim.scanStale',
  (d) => `SELECT ${CANDIDATE} FROM ${WORK_ITEM}
    WHERE PackId = ? AND WorkType = ? AND Bucket = 'processing' AND BucketOrder < ${d.now}
      AND QueueClass IN (?, ?, ?)
    ORDER BY BucketOrder, WorkId LIMIT ${SCAN_LIMIT}`,
);

export const candidateForEvent = reading(
  'claim.candidateForEvent',
  () => `SELECT ${CANDIDATE} FROM ${WORK_ITEM}
    WHERE EventId = ? AND PackId = ? AND WorkType IN (?, ?) AND QueueClass IN (?, ?, ?) AND State = 'pending'
    ORDER BY LaneOrdinal`,
);

/** What a poll asks. One row; nothing is locked or changed. Parameters: pack and type for each bucket, then the pack. */
export const peekBuckets = reading(
  'claim.peekBuckets',
  (d) => `SELECT ${d.now} AS Now,
      (SELECT MIN(BucketOrder) FROM ${WORK_ITEM} WHERE PackId = ? AND WorkType = ? AND Bucket = 'delayed') AS DueAt,
      (SELECT MIN(BucketOrder) FROM ${WORK_ITEM} WHERE PackId = ? AND WorkType = ? AND Bucket = 'processing') AS LeaseEnd,
      (SELECT MIN(BucketOrder) FROM ${WORK_ITEM} WHERE PackId = ? AND WorkType = ? AND Bucket = 'ready:interactive') AS Interactive,
      (SELECT MIN(BucketOrder) FROM ${WORK_ITEM} WHERE PackId = ? AND WorkType = ? AND Bucket = 'ready:default') AS Standard,
      (SELECT MIN(BucketOrder) FROM ${WORK_ITEM} WHERE PackId = ? AND WorkType = ? AND Bucket = 'ready:bulk') AS Bulk,
      (SELECT MIN(DueDate) FROM ${LIMIT} WHERE PackId = ?) AS LimitDue`,
);

// ── locking: Events first, then WorkItems, each sorted ───────────────────────────────────────────────────

export interface EventOwnerRow {
  readonly EventId: string;
  readonly Status: string;
  readonly ExecutionOwner: string;
}

export const lockEventOwners = reading(
  'claim.lockEventOwners',
  (d, n) => `SELECT EventId, Status, ExecutionOwner FROM ${EVENT}
    WHERE EventId IN (${marks(n)}) ORDER BY EventId${d.forUpdate}`,
  MAX_ITEMS,
);

export interface ItemRow {
  readonly WorkId: string;
  readonly PackId: number;
  readonly Generation: number;
  readonly EventId: string;
  readonly WorkType: string;
  readonly Route: string;
  readonly RouteVersion: number;
  readonly QueueClass: string;
  readonly State: string;
  readonly LaneKey: string | null;
  readonly DeliveryLaneKey: string | null;
  readonly TargetLaneKey: string | null;
  readonly LaneOrdinal: number;
  readonly RunAfter: number;
  readonly LeaseToken: string | null;
  readonly LeaseUntil: number | null;
  readonly OwnershipEpoch: number;
  readonly Attempt: number;
  readonly Failures: number;
  readonly FailureBudget: number;
  readonly OnDead: string;
  readonly ProjectionKey: string | null;
  readonly ProjectionActiveKey: string | null;
  readonly Now: number;
}

const ITEM = `WorkId, PackId, Generation, EventId, WorkType, Route, RouteVersion, QueueClass, State, LaneKey,
  DeliveryLaneKey, TargetLaneKey, LaneOrdinal, RunAfter, LeaseToken, LeaseUntil, OwnershipEpoch, Attempt, Failures,
  FailureBudget, OnDead, ProjectionKey, ProjectionActiveKey`;

export const lockItemRows = reading(
  'claim.lockItemRows',
  (d, n) => `SELECT ${ITEM}, ${d.now} AS Now FROM ${WORK_ITEM}
    WHERE WorkId IN (${marks(n)}) ORDER BY WorkId${d.forUpdate}`,
  MAX_ITEMS,
);

// ── the two-table compare-and-swap ───────────────────────────────────────────────────────────────────────

/**
 * The final CAS with the whole predicate (OWN-1): state, incarnation, due time, work type, projection activation
 * and lane heads, whatever the scan believed.
 * Parameters: token, holder, leaseMs, generation, ids…, pack, generation, type, type, ids….
 */
export const claimItems = writing(
  'claim.claimItems',
  (d, n) => `UPDATE ${WORK_ITEM}
    SET State = 'processing', Readiness = 0, LeaseToken = ?, LeaseHolder = ?, LeaseUntil = ${d.now} + ?,
        OwnershipEpoch = OwnershipEpoch + 1, Attempt = Attempt + 1, Generation = ?
    WHERE WorkId IN (${marks(n)}) AND PackId = ? AND Generation <= ? AND WorkType IN (?, ?)
      AND State = 'pending' AND RunAfter <= ${d.now}
      AND (ProjectionKey IS NULL OR ProjectionActiveKey IS NOT NULL)
      AND WorkId NOT IN (${blockedAmong(n)})`,
  MAX_ITEMS,
);

/** Of items that looked due and are not, as after a step of the clock. */
export const clearEarly = writing(
  'claim.clearEarly',
  (d, n) => `UPDATE ${WORK_ITEM} SET Readiness = 1
    WHERE WorkId IN (${marks(n)}) AND State = 'pending' AND Readiness = 2 AND RunAfter > ${d.now}`,
  MAX_ITEMS,
);

/** Somebody else owns their Event (EVO-4): looked at again later. Parameters: ms, ids…. */
export const restForeign = writing(
  'claim.restForeign',
  (d, n) => `UPDATE ${WORK_ITEM} SET Readiness = 1, RunAfter = ${d.now} + ?
    WHERE WorkId IN (${marks(n)}) AND State = 'pending' AND Readiness = 2`,
  MAX_ITEMS,
);

/** EVO-2/3: the Event side of the first claim; older binaries know `skipped` as terminal. */
export const transferEvents = writing(
  'claim.transferEvents',
  (_, n) => `UPDATE ${EVENT} SET ExecutionOwner = 'work_item', Status = 'skipped'
    WHERE EventId IN (${marks(n)}) AND ExecutionOwner = 'event' AND Status IN ('pending', 'failed')`,
  MAX_ITEMS,
);

export const claimedRows = reading(
  'claim.claimedRows',
  (_, n) => `SELECT ${ITEM} FROM ${WORK_ITEM}
    WHERE WorkId IN (${marks(n)}) AND State = 'processing' AND LeaseToken = ?`,
  MAX_ITEMS,
);

/** What an earlier attempt with this token claimed before its answer was lost. */
export const adoptableRows = reading(
  'claim.adoptableRows',
  (d) => `SELECT ${ITEM}, ${d.now} AS Now FROM ${WORK_ITEM}
    WHERE PackId = ? AND WorkType = ? AND Bucket = 'processing' AND LeaseToken = ?`,
);

// ── leases ───────────────────────────────────────────────────────────────────────────────────────────────

const LEASE = '(WorkId = ? AND LeaseToken = ? AND OwnershipEpoch = ?)';

export const renewLeases = writing(
  'claim.renewLeases',
  (d, n) => `UPDATE ${WORK_ITEM} SET LeaseUntil = ${d.now} + ?
    WHERE State = 'processing' AND (${repeated(LEASE, n, ' OR ')})`,
  64,
);

/** The holder's own renewal. One that came too late is lost: its place under a limit may be somebody else's. */
export const keepLeases = writing(
  'claim.keepLeases',
  (d, n) => `UPDATE ${WORK_ITEM} SET LeaseUntil = ${d.now} + ?
    WHERE State = 'processing' AND LeaseUntil >= ${d.now} AND (${repeated(LEASE, n, ' OR ')})`,
  64,
);

export const heldLeases = reading(
  'claim.heldLeases',
  (d, n) => `SELECT WorkId, LeaseToken, OwnershipEpoch, LeaseUntil FROM ${WORK_ITEM}
    WHERE WorkId IN (${marks(n)}) AND State = 'processing' AND LeaseUntil >= ${d.now}`,
  MAX_ITEMS,
);

// ── loading ──────────────────────────────────────────────────────────────────────────────────────────────

export const loadEvents = reading(
  'claim.loadEvents',
  (_, n) => `SELECT e.EventId AS EventId, e.ReceiptId AS ReceiptId, e.EventType AS EventType,
      e.SourceKey AS SourceKey, e.DeliveryKey AS DeliveryKey, e.DeliveryOrdinal AS DeliveryOrdinal,
      e.Route AS Route, e.RouteVersion AS RouteVersion, e.Payload AS Payload, e.Companion AS Companion,
      e.ReceivedDate AS ReceivedDate, e.Origin AS Origin, e.ParentId AS ParentId, r.Headers AS Headers,
      t.TraceContext AS TraceContext
    FROM ${EVENT} e LEFT JOIN ${RECEIPT} r ON r.ReceiptId = e.ReceiptId
    LEFT JOIN ${TRACE} t ON t.ReceiptId = e.ReceiptId
    WHERE e.EventId IN (${marks(n)})`,
  MAX_ITEMS,
);
