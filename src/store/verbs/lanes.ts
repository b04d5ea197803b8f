import { type Plan, read } from '../plan.js';
import type { EnteringRow } from '../statements/finalize.js';
import * as sql from '../statements/lanes.js';
import { ids, readList, writeList } from './batches.js';

interface SuccessorRow {
  readonly Source: string | null;
  readonly Delivery: string | null;
  readonly Target: string | null;
}

/**
 * Marks whoever may run next after `stoppedIds` stopped running, whether they left their lanes or wait in them again,
 * and `entering` that just came into theirs.
 *
 * No successor is lost, without any maintenance tick: enqueue holds a lock on an open predecessor of the item it
 * inserts as blocked; we hold our own rows since before we looked. So either its insert is committed and visible
 * here, or it waits for us and inserts a head. Two finalizers that end the last blockers of one item in different
 * lanes meet at that item's lock, and the second one sees the first one's end.
 */
export function* markSuccessors(
  stoppedIds: readonly string[],
  entering: readonly EnteringRow[] = [],
): Plan<void> {
  const next = new Set(entering.map((row) => row.WorkId));
  for (const row of yield* readList<SuccessorRow>(sql.laneSuccessors, ids(stoppedIds))) {
    for (const workId of [row.Source, row.Delivery, row.Target]) if (workId !== null) next.add(workId);
  }
  // One that waits again was marked as it stopped.
  for (const workId of stoppedIds) next.delete(workId);
  yield* lockAhead(entering);
  yield* markHeads([...next]);
}

/**
 * Whoever is first in a lane that an item just entered does not see the item before we commit. It is locked before the
 * item is looked at: then it cannot end and find nobody; or it has ended, and is in nobody's way.
 */
function* lockAhead(entering: readonly EnteringRow[]): Plan<void> {
  for (const { DeliveryLaneKey, TargetLaneKey, LaneOrdinal } of entering) {
    if (DeliveryLaneKey !== null) yield* read(sql.lockFirstOfDelivery, [DeliveryLaneKey, LaneOrdinal]);
    if (TargetLaneKey !== null) yield* read(sql.lockFirstOfTarget, [TargetLaneKey, LaneOrdinal]);
  }
}

/** Recomputes the hint of these items; sets it where they are heads. */
export function* markHeads(workIds: readonly string[]): Plan<number> {
  if (workIds.length === 0) return 0;
  const list = ids([...workIds].sort());
  yield* readList(sql.lockItems, list);
  return yield* writeList(sql.markHeads, list, twice);
}

/** Clears the hint of items that lost a claim because they are not heads. */
export function* clearBlocked(workIds: readonly string[]): Plan<number> {
  return yield* writeList(sql.clearBlocked, ids(workIds), twice);
}

/** Moves a bounded number of delayed heads whose time has come into the ready range. */
export function* promoteDue(packId: number, workTypes: readonly string[]): Plan<number> {
  let promoted = 0;
  for (const workType of workTypes) {
    const due = yield* read<{ WorkId: string }>(sql.dueItems, [packId, workType]);
    promoted += yield* writeList(sql.promoteDue, ids(due.map((row) => row.WorkId).sort()));
  }
  return promoted;
}

/** One bounded step of the sweep that finds heads without a mark (rows of older writers, or a hint lost to a bug). */
export function* repairReadiness(
  packId: number,
  workType: string,
  cursor: number,
): Plan<{ repaired: number; cursor: number | null }> {
  const rows = yield* read<{ WorkId: string; BucketOrder: number }>(sql.blockedItems, [
    packId,
    workType,
    cursor,
  ]);
  const heads = yield* readList<{ WorkId: string }>(sql.unmarkedHeads, ids(rows.map((row) => row.WorkId)));
  const repaired = yield* markHeads(heads.map((row) => row.WorkId));
  return { repaired, cursor: rows.length === 0 ? null : rows[rows.length - 1]!.BucketOrder };
}

const twice = <T>(list: readonly T[]): readonly T[] => [...list, ...list];
