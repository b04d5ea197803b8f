import { reading } from '../statement.js';
import { EVENT, FAILURE, PACK, REPLAY, WORK_ITEM } from './tables.js';

/** An item that an action may be about, as a plain read sees it; what changes is read again under its locks. */
export interface TargetRow {
  readonly EventId: string;
  readonly PackId: number;
  readonly Namespace: string;
  readonly Pack: string;
  readonly PackStatus: string;
  readonly Route: string;
  readonly SourceKey: string;
  readonly ReceivedDate: number;
  readonly CreatedDate: number;
  /** Of the Event: an older replayer's mark. */
  readonly EventReplayedAt: number | null;
  /** `null`: the Event has no such item. */
  readonly WorkId: string | null;
  readonly WorkType: string | null;
  readonly State: string | null;
  readonly ReplayedAt: number | null;
  readonly ProjectionKey: string | null;
  /** Not `null`: this very action made the Event. */
  readonly MadeBy: string | null;
  /** Of a failure. */
  readonly FailedDate: number | null;
}

const COLUMNS = `e.EventId AS EventId, e.PackId AS PackId, p.Namespace AS Namespace, p.Pack AS Pack,
  p.Status AS PackStatus, e.Route AS Route, e.SourceKey AS SourceKey, e.ReceivedDate AS ReceivedDate, e.CreatedDate AS CreatedDate,
  e.ReplayedAt AS EventReplayedAt, w.WorkId AS WorkId, w.WorkType AS WorkType, w.State AS State, w.ReplayedAt AS ReplayedAt,
  w.ProjectionKey AS ProjectionKey`;

/** Every item of one Event, or one row without an item. Parameters: event. */
export const targetsOfEvent = reading(
  'targets.ofEvent',
  () => `SELECT ${COLUMNS}, NULL AS MadeBy, NULL AS FailedDate
    FROM ${EVENT} e JOIN ${PACK} p ON p.PackId = e.PackId LEFT JOIN ${WORK_ITEM} w ON w.EventId = e.EventId
    WHERE e.EventId = ? ORDER BY w.WorkType`,
);

/** Events that one step looks at, of which it takes those that it is to change. */
export const WALK_LIMIT = 512;

/** A step along all Events by id, however few of them are meant. Parameters: position, action. */
export const targetsAfter = reading(
  'targets.after',
  () => `SELECT ${COLUMNS}, r.ActionId AS MadeBy, NULL AS FailedDate
    FROM (SELECT EventId FROM ${EVENT} WHERE EventId > ? ORDER BY EventId LIMIT ${WALK_LIMIT}) s
    JOIN ${EVENT} e ON e.EventId = s.EventId JOIN ${PACK} p ON p.PackId = e.PackId
    LEFT JOIN ${WORK_ITEM} w ON w.EventId = e.EventId AND w.WorkType = 'connector_event'
    LEFT JOIN ${REPLAY} r ON r.ChildId = e.EventId AND r.ActionId = ?
    ORDER BY e.EventId`,
);

/**
 * A step along one group of failures, up to a date: what fails again while the action goes on is no part of it.
 * Parameters: fingerprint, last date, (date, date, work): the position.
 */
export const targetsOfGroup = reading(
  'targets.ofGroup',
  () => `SELECT ${COLUMNS}, NULL AS MadeBy, s.FailedDate AS FailedDate
    FROM (SELECT WorkId, EventId, FailedDate FROM ${FAILURE}
      WHERE Fingerprint = ? AND FailedDate <= ? AND FailedDate >= ? AND (FailedDate > ? OR WorkId > ?)
      ORDER BY Fingerprint, FailedDate, WorkId LIMIT ${WALK_LIMIT}) s
    JOIN ${EVENT} e ON e.EventId = s.EventId JOIN ${PACK} p ON p.PackId = e.PackId
    JOIN ${WORK_ITEM} w ON w.WorkId = s.WorkId
    ORDER BY s.FailedDate, s.WorkId`,
);

/** Of a dry run, which has no action to say when it began. */
export const databaseNow = reading('targets.now', (d) => `SELECT ${d.now} AS Now`);
