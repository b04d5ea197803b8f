/**
 *   processing ──completed──▶ completed ┐
 *              ──skipped────▶ skipped   │ terminal: activates the projection's queued generation (PRJ-3)
 *              ──dead───────▶ dead      ┘ and marks the lanes' next heads, in the same transaction
 *              ──dead, failed too often under onDead hold──▶ held (blocks its lanes)
 *              ──failed─────▶ pending, due after its delay; the only transition that spends budget (EXE-4)
 *              ──released───▶ pending, nothing counted
 */

import type { WorkError } from '../../core/outcome.js';
import type { WorkItemState } from '../../core/work.js';
import { type Param, type Plan, write } from '../plan.js';
import { type ItemRow, lockItemRows } from '../statements/claim.js';
import * as sql from '../statements/finalize.js';
import type { Finalization, FinalizeResult } from '../store.js';
import { ids, readList, writeList } from './batches.js';
import { noteFailure } from './failures.js';
import { markSuccessors } from './lanes.js';
import { type Ending, endingOf, noteEnded } from './tally.js';

type Lease = readonly [workId: string, token: string, epoch: number];

/** Applies outcomes together. An item whose lease is gone is reported `lost` and undoes nothing else (OWN-5). */
export function* finalize(batch: readonly Finalization[]): Plan<FinalizeResult[]> {
  const rows = yield* lockRows(batch.map((entry) => entry.lease.workId));
  const results = new Map<Finalization, FinalizeResult>();
  const applied = new Map<string, FinalizeResult>();
  const completed: ItemRow[] = [];
  const ended: ItemRow[] = [];
  const stopped: ItemRow[] = [];
  const endings: Ending[] = [];
  for (const entry of batch) {
    const row = rows.get(entry.lease.workId);
    if (
      row === undefined ||
      row.LeaseToken !== entry.lease.token ||
      row.OwnershipEpoch !== entry.lease.epoch
    ) {
      results.set(entry, { workId: entry.lease.workId, lost: true });
    } else if (row.State !== 'processing') {
      // Our token and epoch, already applied: the answer to an earlier COMMIT was lost.
      results.set(entry, {
        workId: row.WorkId,
        lost: false,
        state: row.State as WorkItemState,
        failures: row.Failures,
      });
    } else if (applied.has(row.WorkId)) {
      // One lease twice in the batch: what came first counts, as if it had come in a batch before.
      results.set(entry, applied.get(row.WorkId)!);
    } else {
      const { outcome } = entry;
      const state = outcome.kind === 'completed' ? outcome.kind : yield* applyOne(row, outcome);
      if (state === 'completed') completed.push(row);
      else (state === 'skipped' || state === 'dead' ? ended : stopped).push(row);
      if (state !== 'pending' && state !== 'held') endings.push(endingOf(row, state));
      const failures = row.Failures + (outcome.kind === 'failed' ? 1 : 0);
      applied.set(row.WorkId, { workId: row.WorkId, lost: false, state, failures });
      results.set(entry, applied.get(row.WorkId)!);
    }
  }
  if (completed.length > 0) {
    expectAll(completed.length, yield* writeList(sql.completeItems, completed.map(leaseOf)));
  }
  yield* leaveLanes([...completed, ...ended], stopped);
  yield* noteEnded(endings);
  return batch.map((entry) => results.get(entry)!);
}

export function* lockRows(workIds: readonly string[]): Plan<Map<string, ItemRow>> {
  const sorted = [...new Set(workIds)].sort();
  const rows = yield* readList<ItemRow>(lockItemRows, ids(sorted));
  return new Map(rows.map((row) => [row.WorkId, row]));
}

function* applyOne(
  row: ItemRow,
  outcome: Exclude<Finalization['outcome'], { kind: 'completed' }>,
): Plan<WorkItemState> {
  const lease = leaseOf(row);
  switch (outcome.kind) {
    case 'failed':
      return yield* failWorkItem(row, outcome.error, outcome.delayMs);
    case 'released': {
      const delayMs = outcome.delayMs ?? 0;
      expectAll(1, yield* write(sql.releaseItem, [delayMs, delayMs, ...lease]));
      return 'pending';
    }
    case 'dead':
      if (row.OnDead === 'hold') {
        expectAll(1, yield* write(sql.parkItem, [outcome.error.code, outcome.error.message, ...lease]));
        yield* noteFailure(row, outcome.error);
        return 'held';
      }
      expectAll(1, yield* write(sql.endItem, ['dead', outcome.error.code, outcome.error.message, ...lease]));
      yield* noteFailure(row, outcome.error);
      return 'dead';
    case 'skipped':
      expectAll(
        1,
        yield* write(sql.endItem, ['skipped', outcome.error.code, outcome.error.message, ...lease]),
      );
      return 'skipped';
  }
}

/** EXE-4: the one place that spends the failure budget. The row is locked and its lease was checked. */
export function* failWorkItem(
  row: ItemRow,
  error: WorkError,
  delayMs: number,
): Plan<'pending' | 'dead' | 'held'> {
  const lease = leaseOf(row);
  if (row.Failures + 1 < row.FailureBudget) {
    expectAll(1, yield* write(sql.failItem, [delayMs, error.code, error.message, ...lease]));
    return 'pending';
  }
  const held = row.OnDead === 'hold';
  expectAll(1, yield* write(held ? sql.holdItem : sql.killItem, [error.code, error.message, ...lease]));
  yield* noteFailure(row, error);
  return held ? 'held' : 'dead';
}

/**
 * Terminal rows: their projections hand off, then their lanes' next heads are marked. `stopped` rows stay in their
 * lanes (a retry, a release, held), but run no more: an older item that came into a lane meanwhile is its head now.
 */
export function* leaveLanes(ended: readonly ItemRow[], stopped: readonly ItemRow[] = []): Plan<void> {
  if (ended.length + stopped.length === 0) return;
  const keys = ended.map((row) => row.ProjectionActiveKey).filter((key): key is string => key !== null);
  const activated = yield* activateQueued(keys);
  const inLanes = [...ended, ...stopped].filter(
    (row) => row.LaneKey ?? row.DeliveryLaneKey ?? row.TargetLaneKey,
  );
  yield* markSuccessors(
    inLanes.map((row) => row.WorkId),
    activated,
  );
}

function* activateQueued(projectionKeys: readonly string[]): Plan<sql.EnteringRow[]> {
  const queued = yield* readList<sql.EnteringRow>(sql.lockQueuedGenerations, ids(projectionKeys));
  const workIds = queued.map((row) => row.WorkId).sort();
  yield* writeList(sql.activateGenerations, ids(workIds));
  return queued;
}

function leaseOf(row: ItemRow): Lease & readonly Param[] {
  return [row.WorkId, row.LeaseToken!, row.OwnershipEpoch];
}

/** The rows are locked, so a CAS that matches fewer of them than were checked is a bug: roll back, never half-apply. */
export function expectAll(expected: number, changed: number): void {
  if (changed !== expected) throw new Error(`a fenced update changed ${changed} of ${expected} locked rows`);
}
