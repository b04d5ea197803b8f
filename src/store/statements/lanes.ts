import { type Dialect, marks, reading, writing } from '../statement.js';
import { WORK_ITEM } from './tables.js';

const MAX_ITEMS = 256;

/**
 * The real lane predicate (OWN-2): `w` is blocked while a lane of it has an earlier open item or a running one.
 * LaneRank is 0 for what runs, so both are the one range `LaneRank < w.LaneOrdinal`, a single probe per lane.
 */
const BLOCKED = [
  ['LaneKey', 'LaneOpenKey'],
  ['DeliveryLaneKey', 'DeliveryOpenKey'],
  ['TargetLaneKey', 'TargetOpenKey'],
]
  .map(
    ([lane, open]) =>
      `EXISTS (SELECT 1 FROM ${WORK_ITEM} b WHERE b.${open} = w.${lane} AND b.LaneRank < w.LaneOrdinal)`,
  )
  .join(' OR ');

/**
 * The blocked ones among `size` items, usable inside an UPDATE of the same table: MySQL 8 refuses a subquery on the
 * updated table (1093) unless it is a derived table, and the LIMIT keeps its optimizer from merging it again.
 */
export const blockedAmong = (size: number): string =>
  `SELECT q.WorkId FROM (SELECT w.WorkId FROM ${WORK_ITEM} w
    WHERE w.WorkId IN (${marks(size)}) AND (${BLOCKED}) LIMIT 100000) q`;

/**
 * The item that now comes first in each lane of ended items, or NULL. Plain: enqueue locks an open predecessor, so
 * whoever it blocks is committed and visible here, or waits for us and will see that we ended.
 */
export const laneSuccessors = reading(
  'lanes.successors',
  (_, n) => `SELECT
      (SELECT s.WorkId FROM ${WORK_ITEM} s WHERE s.LaneOpenKey = x.LaneKey ORDER BY s.LaneRank LIMIT 1) AS Source,
      (SELECT s.WorkId FROM ${WORK_ITEM} s WHERE s.DeliveryOpenKey = x.DeliveryLaneKey
        ORDER BY s.LaneRank LIMIT 1) AS Delivery,
      (SELECT s.WorkId FROM ${WORK_ITEM} s WHERE s.TargetOpenKey = x.TargetLaneKey
        ORDER BY s.LaneRank LIMIT 1) AS Target
    FROM ${WORK_ITEM} x WHERE x.WorkId IN (${marks(n)})`,
  MAX_ITEMS,
);

/** The first of a lane before an ordinal; a current read, which waits for whoever is just ending. Parameters: lane, ordinal. */
const firstAheadIn = (column: string) => (d: Dialect) =>
  `SELECT WorkId FROM ${WORK_ITEM} WHERE ${column} = ? AND LaneRank < ? ORDER BY LaneRank LIMIT 1${d.forUpdate}`;

export const lockFirstOfDelivery = reading('lanes.lockFirstOfDelivery', firstAheadIn('DeliveryOpenKey'));
export const lockFirstOfTarget = reading('lanes.lockFirstOfTarget', firstAheadIn('TargetOpenKey'));

/**
 * Taken before `markHeads`: an UPDATE works out who is blocked first and waits for a locked row afterwards, so what it
 * knew is old when it goes on. Two ends of the last two blockers of one item would each see the other one still open.
 */
export const lockItems = reading(
  'lanes.lockItems',
  (d, n) => `SELECT WorkId FROM ${WORK_ITEM} WHERE WorkId IN (${marks(n)}) ORDER BY WorkId${d.forUpdate}`,
  MAX_ITEMS,
);

/** Sets the readiness hint of items that are heads of all their lanes. */
export const markHeads = writing(
  'lanes.markHeads',
  (d, n) => `UPDATE ${WORK_ITEM} SET Readiness = CASE WHEN RunAfter <= ${d.now} THEN 2 ELSE 1 END
    WHERE WorkId IN (${marks(n)}) AND State = 'pending'
      AND (ProjectionKey IS NULL OR ProjectionActiveKey IS NOT NULL)
      AND WorkId NOT IN (${blockedAmong(n)})`,
  MAX_ITEMS,
);

/** Clears false hints: items that looked like heads and are not. */
export const clearBlocked = writing(
  'lanes.clearBlocked',
  (_, n) => `UPDATE ${WORK_ITEM} SET Readiness = 0
    WHERE WorkId IN (${marks(n)}) AND State = 'pending' AND WorkId IN (${blockedAmong(n)})`,
  MAX_ITEMS,
);

/** Delayed heads that have come due, oldest first. */
export const dueItems = reading(
  'lanes.dueItems',
  (d) => `SELECT WorkId FROM ${WORK_ITEM}
    WHERE PackId = ? AND WorkType = ? AND Bucket = 'delayed' AND BucketOrder <= ${d.now}
    ORDER BY BucketOrder LIMIT ${MAX_ITEMS}`,
);

export const promoteDue = writing(
  'lanes.promoteDue',
  (d, n) => `UPDATE ${WORK_ITEM} SET Readiness = 2
    WHERE WorkId IN (${marks(n)}) AND State = 'pending' AND Readiness = 1 AND RunAfter <= ${d.now}`,
  MAX_ITEMS,
);

/** One step of the repair sweep over items that carry no mark. */
export const blockedItems = reading(
  'lanes.blockedItems',
  () => `SELECT WorkId, BucketOrder FROM ${WORK_ITEM}
    WHERE PackId = ? AND WorkType = ? AND Bucket = 'blocked' AND BucketOrder > ?
    ORDER BY BucketOrder LIMIT ${MAX_ITEMS}`,
);

/** The unmarked heads among `size` items. */
export const unmarkedHeads = reading(
  'lanes.unmarkedHeads',
  (_, n) => `SELECT w.WorkId AS WorkId FROM ${WORK_ITEM} w
    WHERE w.WorkId IN (${marks(n)}) AND w.Bucket = 'blocked' AND NOT (${BLOCKED})`,
  MAX_ITEMS,
);
