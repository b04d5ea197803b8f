import { marks, reading } from '../statement.js';
import { EVENT, PACK, RECEIPT, WORK_ITEM } from './tables.js';

export interface StatsRow {
  readonly Namespace: string;
  readonly Pack: string;
  readonly Generation: number;
  readonly QueueClass: string | null;
  readonly State: string | null;
  readonly Bucket: string | null;
  readonly Total: number;
  readonly Stale: number;
  readonly OldestRunAfter: number | null;
  readonly Now: number;
}

const SCOPE = `w.PackId = p.PackId AND w.WorkType IN ('connector_event', 'workflow_action_apply')`;

/** Counts by the readiness marks. */
export const countByMark = reading(
  'reports.countByMark',
  (
    d,
  ) => `SELECT p.Namespace AS Namespace, p.Pack AS Pack, p.Generation AS Generation, w.QueueClass AS QueueClass,
      w.State AS State, w.Bucket AS Bucket, COUNT(w.WorkId) AS Total,
      COALESCE(SUM(CASE WHEN w.State = 'processing' AND w.LeaseUntil < ${d.now} THEN 1 ELSE 0 END), 0) AS Stale,
      MIN(w.RunAfter) AS OldestRunAfter, ${d.now} AS Now
    FROM ${PACK} p LEFT JOIN ${WORK_ITEM} w ON ${SCOPE}
    GROUP BY p.Namespace, p.Pack, p.Generation, w.QueueClass, w.State, w.Bucket
    ORDER BY p.Namespace, p.Pack`,
);

/**
 * Counts by the claim's own predicate (STA-2): whatever the marks say, an item is ready when it is due and no lane of
 * it has an earlier open or a running item. `Bucket` is computed here in the same words.
 */
export const countByPredicate = reading(
  'reports.countByPredicate',
  (
    d,
  ) => `SELECT p.Namespace AS Namespace, p.Pack AS Pack, p.Generation AS Generation, w.QueueClass AS QueueClass,
      w.State AS State, w.Bucket AS Bucket, COUNT(w.WorkId) AS Total,
      COALESCE(SUM(CASE WHEN w.State = 'processing' AND w.LeaseUntil < ${d.now} THEN 1 ELSE 0 END), 0) AS Stale,
      MIN(w.RunAfter) AS OldestRunAfter, ${d.now} AS Now
    FROM ${PACK} p LEFT JOIN (SELECT i.WorkId AS WorkId, i.PackId AS PackId, i.WorkType AS WorkType,
        i.QueueClass AS QueueClass, i.State AS State, i.LeaseUntil AS LeaseUntil, i.RunAfter AS RunAfter,
        CASE
          WHEN i.State <> 'pending' OR i.Bucket = 'queued' THEN i.Bucket
          WHEN EXISTS (SELECT 1 FROM ${WORK_ITEM} b WHERE b.LaneOpenKey = i.LaneKey AND b.LaneRank < i.LaneOrdinal)
            OR EXISTS (SELECT 1 FROM ${WORK_ITEM} b WHERE b.DeliveryOpenKey = i.DeliveryLaneKey AND b.LaneRank < i.LaneOrdinal)
            OR EXISTS (SELECT 1 FROM ${WORK_ITEM} b WHERE b.TargetOpenKey = i.TargetLaneKey AND b.LaneRank < i.LaneOrdinal)
            THEN 'blocked'
          WHEN i.RunAfter > ${d.now} THEN 'delayed'
          ELSE 'ready:exact' END AS Bucket
      FROM ${WORK_ITEM} i) w ON ${SCOPE}
    GROUP BY p.Namespace, p.Pack, p.Generation, w.QueueClass, w.State, w.Bucket
    ORDER BY p.Namespace, p.Pack`,
);

export interface QueueGaugeRow {
  readonly PackId: number;
  readonly Now: number;
  readonly Processing: number;
  readonly Stale: number;
  readonly Held: number;
  readonly Interactive: number | null;
  readonly Standard: number | null;
  readonly Bulk: number | null;
}

const rowsIn = (bucket: 'processing' | 'held') => `FROM ${WORK_ITEM} WHERE PackId = p.PackId
  AND WorkType IN ('connector_event', 'workflow_action_apply') AND Bucket = '${bucket}'`;

const firstDue = (bucket: string) => `(SELECT RunAfter FROM ${WORK_ITEM}
  WHERE PackId = p.PackId AND WorkType = 'connector_event' AND Bucket = '${bucket}' ORDER BY BucketOrder LIMIT 1)`;

/** Asked at every scrape: bounded by the processing budget, what is held and one index entry a class, not by the backlog. */
export const queueGauges = reading(
  'reports.queueGauges',
  (d, n) => `SELECT p.PackId AS PackId, ${d.now} AS Now,
      (SELECT COUNT(*) ${rowsIn('processing')}) AS Processing,
      (SELECT COUNT(*) ${rowsIn('processing')} AND BucketOrder < ${d.now}) AS Stale,
      (SELECT COUNT(*) ${rowsIn('held')}) AS Held,
      ${firstDue('ready:interactive')} AS Interactive, ${firstDue('ready:default')} AS Standard,
      ${firstDue('ready:bulk')} AS Bulk
    FROM ${PACK} p WHERE p.PackId IN (${marks(n)})`,
  64,
);

/** A step along the Events by id, with whether each has its `connector_event` item; reads two indexes only. */
export const coverageOf = reading(
  'reports.coverageOf',
  () => `SELECT e.EventId AS EventId, w.WorkId AS WorkId FROM ${EVENT} e
    LEFT JOIN ${WORK_ITEM} w ON w.EventId = e.EventId AND w.WorkType = 'connector_event'
    WHERE e.EventId > ? ORDER BY e.EventId LIMIT 256`,
);

export interface EventReportRow {
  readonly EventId: string;
  readonly ReceiptId: string | null;
  readonly Namespace: string;
  readonly Pack: string;
  readonly EventType: string;
  readonly SourceKey: string;
  readonly DeliveryKey: string;
  readonly DeliveryOrdinal: number;
  readonly Route: string;
  readonly RouteVersion: number;
  readonly QueueClass: string;
  readonly Origin: string;
  readonly ParentId: string | null;
  readonly ConflictOf: string | null;
  readonly ReceivedDate: number;
  readonly State: string | null;
}

const EVENT_COLUMNS = `e.EventId AS EventId, e.ReceiptId AS ReceiptId, p.Namespace AS Namespace, p.Pack AS Pack,
  e.EventType AS EventType, e.SourceKey AS SourceKey, e.DeliveryKey AS DeliveryKey,
  e.DeliveryOrdinal AS DeliveryOrdinal, e.Route AS Route, e.RouteVersion AS RouteVersion,
  e.QueueClass AS QueueClass, e.Origin AS Origin, e.ParentId AS ParentId, e.ConflictOf AS ConflictOf,
  e.ReceivedDate AS ReceivedDate`;

const EVENT_JOIN = `FROM ${EVENT} e JOIN ${PACK} p ON p.PackId = e.PackId
  LEFT JOIN ${WORK_ITEM} w ON w.EventId = e.EventId AND w.WorkType = 'connector_event'`;

/** Rows a page reads; a filter that most rows fail may need several pages. */
export const PAGE_LIMIT = 200;

/**
 * A page of Events in order of id. An absent filter is passed as NULL twice.
 * Parameters: cursor, then (value, value) for namespace, pack, state, source.
 */
export const listEvents = reading(
  'reports.listEvents',
  () => `SELECT ${EVENT_COLUMNS}, w.State AS State ${EVENT_JOIN}
    WHERE e.EventId > ? AND (? IS NULL OR p.Namespace = ?) AND (? IS NULL OR p.Pack = ?)
      AND (? IS NULL OR w.State = ?) AND (? IS NULL OR e.SourceKey = ?)
    ORDER BY e.EventId LIMIT ${PAGE_LIMIT + 1}`,
);

export const showEvent = reading(
  'reports.showEvent',
  () => `SELECT ${EVENT_COLUMNS}, e.Payload AS Payload, w.State AS State ${EVENT_JOIN} WHERE e.EventId = ?`,
);

export const selectPayloads = reading(
  'reports.selectPayloads',
  (_, n) => `SELECT EventId, ReceiptId, Payload FROM ${EVENT} WHERE EventId IN (${marks(n)})`,
  64,
);

/** Bodies that Events without bytes of their own stand for; one that a single Event carries is in that Event. */
export const sharedBodies = reading(
  'reports.sharedBodies',
  (_, n) => `SELECT ReceiptId, Body FROM ${RECEIPT}
    WHERE ReceiptId IN (${marks(n)}) AND Body IS NOT NULL AND BodyEventId IS NOT NULL`,
  64,
);

export interface WorkReportRow {
  readonly WorkId: string;
  readonly WorkType: string;
  readonly State: string;
  readonly Attempt: number;
  readonly Failures: number;
  readonly RunAfter: number;
  readonly LeaseUntil: number | null;
  readonly OwnershipEpoch: number;
  readonly LaneKey: string | null;
  readonly LaneOrdinal: number;
  readonly SupersededBy: string | null;
  readonly LastErrorCode: string | null;
  readonly LastError: string | null;
}

export const showWorkItems = reading(
  'reports.showWorkItems',
  () => `SELECT WorkId, WorkType, State, Attempt, Failures, RunAfter, LeaseUntil, OwnershipEpoch, LaneKey, LaneOrdinal,
      SupersededBy, LastErrorCode, LastError
    FROM ${WORK_ITEM} WHERE EventId = ? ORDER BY WorkType`,
);

export interface ReceiptReportRow {
  readonly ReceiptId: string;
  readonly PackId: number;
  readonly Namespace: string;
  readonly Pack: string;
  readonly Route: string;
  readonly EventCount: number;
  readonly BodyBytes: number;
  readonly BodyHash: Uint8Array;
  readonly QuarantinedDate: number | null;
  readonly LastErrorCode: string | null;
  readonly LastError: string | null;
  readonly ReceivedDate: number;
}

const RECEIPT_COLUMNS = `r.ReceiptId AS ReceiptId, r.PackId AS PackId, p.Namespace AS Namespace, p.Pack AS Pack,
  r.Route AS Route, r.EventCount AS EventCount, r.BodyBytes AS BodyBytes, r.BodyHash AS BodyHash,
  r.QuarantinedDate AS QuarantinedDate, r.LastErrorCode AS LastErrorCode, r.LastError AS LastError,
  r.ReceivedDate AS ReceivedDate`;

/** Parameters: cursor, (namespace ×2), (pack ×2), wanted ×2 where wanted is 'materialized', 'quarantined' or NULL ×3. */
export const listReceipts = reading(
  'reports.listReceipts',
  () => `SELECT ${RECEIPT_COLUMNS} FROM ${RECEIPT} r JOIN ${PACK} p ON p.PackId = r.PackId
    WHERE r.ReceiptId > ? AND (? IS NULL OR p.Namespace = ?) AND (? IS NULL OR p.Pack = ?)
      AND (? IS NULL OR CASE WHEN r.QuarantinedDate IS NULL THEN 'materialized' ELSE 'quarantined' END = ?)
    ORDER BY r.ReceiptId LIMIT ${PAGE_LIMIT + 1}`,
);

export interface StoredReceiptRow extends ReceiptReportRow {
  readonly Method: string;
  readonly Target: string;
  readonly Headers: string;
  readonly Verification: string;
  readonly Body: Uint8Array | null;
}

/** The body stands in the receipt or in the Event that carries the same bytes. */
export const loadReceipt = reading(
  'reports.loadReceipt',
  () => `SELECT ${RECEIPT_COLUMNS}, r.Method AS Method, r.Target AS Target, r.Headers AS Headers,
      r.Verification AS Verification, COALESCE(r.Body, e.Payload) AS Body
    FROM ${RECEIPT} r JOIN ${PACK} p ON p.PackId = r.PackId LEFT JOIN ${EVENT} e ON e.EventId = r.BodyEventId
    WHERE r.ReceiptId = ?`,
);
