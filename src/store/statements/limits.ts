import { type Dialect, marks, reading, repeated, writing } from '../statement.js';
import { EVENT, LIMIT, LIMITED, PACK, WORK_ITEM } from './tables.js';

const MAX_ITEMS = 256;
const MAX_ROWS = 64;

/** Limits with waiting items that one look reads. */
export const DUE_PAGE = 256;

export interface LimitRow {
  readonly LimitKey: string;
  /** Theoretical arrival time of the next start, µs. */
  readonly Arrival: number;
  /** When to look after the items that wait for it; `null`: none do. */
  readonly DueDate: number | null;
}

const LIMIT_ROW = 'LimitKey, Arrival, DueDate';

/** The claimers of a pack's other namespaces meet here; after their drain rows, before everything else. */
export const lockLimit = reading(
  'limits.lockLimit',
  (d) => `SELECT ${LIMIT_ROW} FROM ${LIMIT} WHERE LimitKey = ?${d.forUpdate}`,
);

export const limitRows = reading(
  'limits.limitRows',
  (_, n) => `SELECT ${LIMIT_ROW} FROM ${LIMIT} WHERE LimitKey IN (${marks(n)})`,
  MAX_ITEMS,
);

/** Parameters: key, pack, arrival, due. */
export const insertLimit = writing(
  'limits.insertLimit',
  () => `INSERT INTO ${LIMIT} (LimitKey, PackId, Arrival, DueDate) VALUES (?, ?, ?, ?)`,
);

/** Parameters: arrival, due, key. */
export const updateLimit = writing(
  'limits.updateLimit',
  () => `UPDATE ${LIMIT} SET Arrival = ?, DueDate = ? WHERE LimitKey = ?`,
);

const LISTED = `${LIMITED} l JOIN ${WORK_ITEM} w ON w.WorkId = l.WorkId AND w.QueueClass IN (?, ?, ?)`;

/**
 * Limits of a pack that waiting items of some classes may get their turn under.
 * Parameters: pack, due, due, key of the last one seen, class × 3.
 */
export const dueLimits = reading(
  'limits.dueLimits',
  (d) => `SELECT ${LIMIT_ROW} FROM ${LIMIT} d
    WHERE PackId = ? AND DueDate <= ${d.now} AND (DueDate > ? OR (DueDate = ? AND LimitKey > ?))
      AND EXISTS (SELECT 1 FROM ${LISTED} WHERE l.LimitKey = d.LimitKey)
    ORDER BY DueDate, LimitKey LIMIT ${DUE_PAGE}`,
);

/** Rows that say no more than their absence would. Parameters: pack, µs now. */
export const spentLimits = reading(
  'limits.spentLimits',
  () =>
    `SELECT LimitKey FROM ${LIMIT} WHERE PackId = ? AND DueDate IS NULL AND Arrival <= ? LIMIT ${MAX_ROWS}`,
);

export const deleteLimits = writing(
  'limits.deleteLimits',
  (_, n) => `DELETE FROM ${LIMIT} WHERE LimitKey IN (${marks(n)})`,
  MAX_ROWS,
);

// ── what runs ────────────────────────────────────────────────────────────────────────────────────────────

/** Under a lease. What is past it runs no more, and nobody may be there to take it over: its pack paused, or not served. */
const running = (d: Dialect): string =>
  `w.WorkType IN ('connector_event', 'workflow_action_apply') AND w.Bucket = 'processing' AND w.BucketOrder >= ${d.now}`;

/** Rows of a pack that run, over all its namespaces. */
export const runningOfPack = reading(
  'limits.runningOfPack',
  (
    d,
  ) => `SELECT COUNT(*) AS Running FROM ${PACK} p JOIN ${WORK_ITEM} w ON w.PackId = p.PackId AND ${running(d)}
    WHERE p.Pack = ?`,
);

export interface RunningSourceRow {
  readonly SourceKey: string;
  readonly Running: number;
}

/** Bounded by the processing budget. */
export const runningBySource = reading(
  'limits.runningBySource',
  (d) => `SELECT e.SourceKey AS SourceKey, COUNT(*) AS Running
    FROM ${WORK_ITEM} w JOIN ${EVENT} e ON e.EventId = w.EventId WHERE w.PackId = ? AND ${running(d)}
    GROUP BY e.SourceKey`,
);

export interface SourceRow {
  readonly EventId: string;
  readonly SourceKey: string;
}

export const sourcesOf = reading(
  'limits.sourcesOf',
  (_, n) => `SELECT EventId, SourceKey FROM ${EVENT} WHERE EventId IN (${marks(n)})`,
  MAX_ITEMS,
);

// ── what waits ───────────────────────────────────────────────────────────────────────────────────────────

export interface LimitedRow {
  readonly LimitKey: string;
  readonly LaneOrdinal: number;
  readonly WorkId: string;
}

/** Items of one limit that are read at once. */
export const LIMITED_PAGE = MAX_ROWS;

/** Parameters: class × 3, key. */
export const firstLimited = reading(
  'limits.firstLimited',
  () => `SELECT l.LimitKey AS LimitKey, l.LaneOrdinal AS LaneOrdinal, l.WorkId AS WorkId FROM ${LISTED}
    WHERE l.LimitKey = ? ORDER BY l.LaneOrdinal, l.WorkId LIMIT ${LIMITED_PAGE}`,
);

/** Something is listed under a limit. */
export const anyLimited = reading(
  'limits.anyLimited',
  () => `SELECT WorkId FROM ${LIMITED} WHERE LimitKey = ? LIMIT 1`,
);

export const insertLimited = writing(
  'limits.insertLimited',
  (_, n) => `INSERT INTO ${LIMITED} (LimitKey, LaneOrdinal, WorkId) VALUES ${repeated('(?, ?, ?)', n)}`,
  MAX_ROWS,
);

export const deleteLimited = writing(
  'limits.deleteLimited',
  (_, n) =>
    `DELETE FROM ${LIMITED} WHERE ${repeated('(LimitKey = ? AND LaneOrdinal = ? AND WorkId = ?)', n, ' OR ')}`,
  MAX_ROWS,
);

/** Out of the ready range, for so long at most, should nobody free them before. Parameters: ms, ids…. */
export const restLimited = writing(
  'limits.restLimited',
  (d, n) => `UPDATE ${WORK_ITEM} SET Readiness = 1, RunAfter = ${d.now} + ?
    WHERE WorkId IN (${marks(n)}) AND State = 'pending' AND Readiness = 2`,
  MAX_ITEMS,
);

/** Back into it, also those whose hint is wrong. The claim looks at lanes and due time again. */
export const freeLimited = writing(
  'limits.freeLimited',
  (d, n) => `UPDATE ${WORK_ITEM} SET Readiness = 2, RunAfter = ${d.now}
    WHERE WorkId IN (${marks(n)}) AND State = 'pending' AND Readiness < 2`,
  MAX_ITEMS,
);
