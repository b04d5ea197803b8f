/**
 * The two-table compare-and-swap (OWN-1, EVO-2): Events are locked first, then WorkItems, each sorted; what is valid on both
 * sides is claimed, and an item that fails on either side is a miss and takes nobody with it.
 */
import type { WorkType } from '../../core/work.js';
import { DuplicateKey } from '../driver.js';
import type { Plan } from '../plan.js';
import * as sql from '../statements/claim.js';
import type { ClaimedItem, ClaimRequest } from '../store.js';
import { ids, readList, writeList } from './batches.js';
import { lockRows } from './finalize.js';
import { clearBlocked } from './lanes.js';
import type { SharedLimits } from './shared-limits.js';
import type { SourceLimits } from './source-limits.js';
import type { Ending } from './tally.js';

/** How long an item that somebody else has to run is left alone; it would be met at every scan. */
const FOREIGN_REST_MS = 5_000;

/** A claim on its way through its transaction. */
export interface Claiming {
  readonly request: ClaimRequest;
  readonly workTypes: readonly WorkType[];
  readonly items: ClaimedItem[];
  /** Nothing new is claimed for a pack that is paused or retired. */
  readonly isActive: boolean;
  /** Lanes an item of this claim already runs in: one item per lane. */
  readonly lanes: Set<string>;
  /** Rows of the pack in processing, kept up to date as this transaction adds and ends some. */
  processing: number;
  stale: number;
  /** Some delayed item had come due when the claim began. */
  readonly isDue: boolean;
  expired: number;
  misses: number;
  /** Items that ended by a failure too many; told to the tally as the last of the transaction. */
  readonly endings: Ending[];
  readonly shared: SharedLimits;
  readonly sources: SourceLimits | null;
  /** Items that an earlier try has claimed already. */
  readonly adopted: number;
}

/** Items that this claim has started itself. */
export const startsOf = ({ items, adopted }: Claiming): number => items.length - adopted;

export const lanesOf = (row: Pick<sql.ItemRow, 'LaneKey' | 'DeliveryLaneKey' | 'TargetLaneKey'>): string[] =>
  [row.LaneKey, row.DeliveryLaneKey, row.TargetLaneKey].filter((lane): lane is string => lane !== null);

/** Locks Events, then WorkItems, and claims the candidates valid on both sides; false hints are cleared. */
export function* attempt(
  claiming: Claiming,
  candidates: readonly { WorkId: string; EventId: string }[],
  reclaimed = false,
): Plan<void> {
  if (candidates.length === 0) return;
  const eventIds = [...new Set(candidates.map((row) => row.EventId))].sort();
  const owners = yield* readList<sql.EventOwnerRow>(sql.lockEventOwners, ids(eventIds));
  const transferable = new Set(owners.filter(isTransferable).map((row) => row.EventId));
  const foreign = new Set(owners.filter(isForeign).map((row) => row.EventId));
  const rows = yield* lockRows(candidates.map((row) => row.WorkId));
  const pending = [...rows.values()].filter((row) => row.State === 'pending');
  // An Event that is not there has no owner either: the item is claimed, and its run says what is missing.
  const valid = pending.filter((row) => !foreign.has(row.EventId));
  const claimed = yield* compareAndSwap(
    claiming,
    valid.map((row) => row.WorkId),
  );
  yield* transfer(claimed.filter((row) => transferable.has(row.EventId)));
  const won = new Map(claimed.map((row) => [row.WorkId, row]));
  for (const { WorkId } of candidates) if (won.has(WorkId)) take(claiming, won.get(WorkId)!, reclaimed);
  claiming.misses += candidates.length - won.size;
  yield* unready(
    valid.filter((row) => !won.has(row.WorkId)),
    pending.filter((row) => foreign.has(row.EventId)),
  );
}

/** What this process cannot run it leaves to one that can (EXE-6): nothing is claimed, and no rate loses a start. */
export function* restUnrunnable(
  { request }: Claiming,
  candidates: readonly sql.CandidateRow[],
): Plan<readonly sql.CandidateRow[]> {
  const others = candidates.filter((row) => !canRun(request, row)).map((row) => row.WorkId);
  if (others.length === 0) return candidates;
  yield* writeList(sql.restForeign, ids(others.sort()), (padded) => [FOREIGN_REST_MS, ...padded]);
  return candidates.filter((row) => canRun(request, row));
}

/** One whose route is gone for good is claimed, and its run says so. */
export function canRun(
  { runnable }: ClaimRequest,
  { Route, RouteVersion }: Pick<sql.CandidateRow, 'Route' | 'RouteVersion'>,
): boolean {
  if (!runnable) return true;
  const version = runnable.routes[Route];
  return version === undefined ? !runnable.isBehind : RouteVersion <= version;
}

/** A miss leaves the ready range, or it would be scanned for ever and starve what is behind it. */
function* unready(missed: readonly sql.ItemRow[], foreign: readonly sql.ItemRow[]): Plan<void> {
  const missedIds = missed.map((row) => row.WorkId);
  const blocked = yield* clearBlocked(missedIds);
  if (blocked < missedIds.length) yield* writeList(sql.clearEarly, ids(missedIds));
  yield* writeList(sql.restForeign, ids(foreign.map((row) => row.WorkId)), (padded) => [
    FOREIGN_REST_MS,
    ...padded,
  ]);
}

/** EVO-3: an Event-owned fact nobody is working on. A `processing` lease keeps its owner (EVO-4). */
const isTransferable = (row: sql.EventOwnerRow): boolean =>
  row.ExecutionOwner === 'event' && (row.Status === 'pending' || row.Status === 'failed');

/** EVO-6: transferred before; the only pair a retry or a second work type accepts. */
const isFrozen = (row: sql.EventOwnerRow): boolean =>
  row.ExecutionOwner === 'work_item' && row.Status === 'skipped';

const isForeign = (row: sql.EventOwnerRow): boolean => !isTransferable(row) && !isFrozen(row);

function* compareAndSwap(claiming: Claiming, workIds: readonly string[]): Plan<sql.ItemRow[]> {
  const { request, workTypes } = claiming;
  const swap = (list: readonly string[]) =>
    writeList(sql.claimItems, ids(list), (padded) => [
      request.token,
      request.holder,
      request.leaseMs,
      request.generation,
      ...padded,
      request.packId,
      request.generation,
      workTypes[0]!,
      workTypes.at(-1)!,
      ...padded,
    ]);
  try {
    yield* swap(workIds);
  } catch (error) {
    // The lane's unique key: somebody runs in one of these lanes since we looked. One by one, so that only it misses.
    if (!(error instanceof DuplicateKey)) throw error;
    for (const workId of workIds) yield* swapAlone(swap([workId]));
  }
  return yield* readList<sql.ItemRow>(sql.claimedRows, ids(workIds), (padded) => [...padded, request.token]);
}

function* swapAlone(swap: Plan<number>): Plan<void> {
  try {
    yield* swap;
  } catch (error) {
    if (!(error instanceof DuplicateKey)) throw error;
  }
}

function* transfer(claimed: readonly sql.ItemRow[]): Plan<void> {
  if (claimed.length === 0) return;
  const eventIds = [...new Set(claimed.map((row) => row.EventId))].sort();
  const changed = yield* writeList(sql.transferEvents, ids(eventIds));
  if (changed !== eventIds.length) {
    throw new Error(`${changed} of ${eventIds.length} locked Events changed owner: the claim is undone`);
  }
}

export function take(claiming: Claiming, row: sql.ItemRow, reclaimed: boolean): void {
  for (const lane of lanesOf(row)) claiming.lanes.add(lane);
  claiming.processing++;
  claiming.items.push({
    lease: {
      workId: row.WorkId,
      token: row.LeaseToken!,
      epoch: row.OwnershipEpoch,
      untilMs: row.LeaseUntil!,
    },
    packId: row.PackId,
    generation: row.Generation,
    eventId: row.EventId,
    workType: row.WorkType as WorkType,
    route: row.Route,
    routeVersion: row.RouteVersion,
    queueClass: row.QueueClass as ClaimedItem['queueClass'],
    laneKey: row.LaneKey,
    laneOrdinal: row.LaneOrdinal,
    runAfter: row.RunAfter,
    attempt: row.Attempt,
    failures: row.Failures,
    failureBudget: row.FailureBudget,
    reclaimed,
  });
}
