import { marks, reading, repeated, writing } from '../statement.js';
import { WORK_ITEM } from './tables.js';

const MAX_ITEMS = 256;
const LEASE = '(WorkId = ? AND LeaseToken = ? AND OwnershipEpoch = ?)';

/**
 * Every statement here is a CAS on token and epoch (OWN-5). The token stays on the row after the end, so that a
 * repeat after a lost COMMIT answer recognizes its own work; only `State = 'processing'` makes it a lease.
 */
export const completeItems = writing(
  'finalize.completeItems',
  (d, n) => `UPDATE ${WORK_ITEM}
    SET State = 'completed', LeaseUntil = NULL, ProjectionActiveKey = NULL, TerminalDate = ${d.now}
    WHERE State = 'processing' AND (${repeated(LEASE, n, ' OR ')})`,
  MAX_ITEMS,
);

/** `skipped` or `dead`, by the holder. Parameters: state, code, message, lease. */
export const endItem = writing(
  'finalize.endItem',
  (d) => `UPDATE ${WORK_ITEM}
    SET State = ?, LeaseUntil = NULL, ProjectionActiveKey = NULL, TerminalDate = ${d.now},
        LastErrorCode = ?, LastError = ?
    WHERE State = 'processing' AND ${LEASE}`,
);

/**
 * The failure-budget transition (EXE-4), the only statement that raises `Failures`.
 * Parameters: delayMs, code, message, lease.
 */
export const failItem = writing(
  'finalize.failItem',
  (d) => `UPDATE ${WORK_ITEM}
    SET State = 'pending', Readiness = 1, Failures = Failures + 1, RunAfter = ${d.now} + ?, LeaseUntil = NULL,
        LastErrorCode = ?, LastError = ?
    WHERE State = 'processing' AND Failures + 1 < FailureBudget AND ${LEASE}`,
);

/** The same transition when the budget is spent: dead, or held in its lane. Parameters: code, message, lease. */
export const killItem = writing(
  'finalize.killItem',
  (d) => `UPDATE ${WORK_ITEM}
    SET Failures = Failures + 1, LeaseUntil = NULL, LastErrorCode = ?, LastError = ?, State = 'dead',
        ProjectionActiveKey = NULL, TerminalDate = ${d.now}
    WHERE State = 'processing' AND Failures + 1 >= FailureBudget AND OnDead <> 'hold' AND ${LEASE}`,
);

export const holdItem = writing(
  'finalize.holdItem',
  () => `UPDATE ${WORK_ITEM}
    SET Failures = Failures + 1, LeaseUntil = NULL, LastErrorCode = ?, LastError = ?, State = 'held'
    WHERE State = 'processing' AND Failures + 1 >= FailureBudget AND OnDead = 'hold' AND ${LEASE}`,
);

/** `dead` by the flow's own word under `onDead: 'hold'`: parked, not terminal. Parameters: code, message, lease. */
export const parkItem = writing(
  'finalize.parkItem',
  () => `UPDATE ${WORK_ITEM} SET State = 'held', LeaseUntil = NULL, LastErrorCode = ?, LastError = ?
    WHERE State = 'processing' AND ${LEASE}`,
);

/** Given back unrun: nothing is counted. Parameters: delayMs, delayMs, lease. */
export const releaseItem = writing(
  'finalize.releaseItem',
  (d) => `UPDATE ${WORK_ITEM}
    SET State = 'pending', Readiness = CASE WHEN ? > 0 THEN 1 ELSE 2 END, RunAfter = ${d.now} + ?, LeaseUntil = NULL
    WHERE State = 'processing' AND ${LEASE}`,
);

// ── projection hand-off (PRJ-3) ──────────────────────────────────────────────────────────────────────────

/** A generation on its way into its lanes, besides that of its projection. */
export interface EnteringRow {
  readonly WorkId: string;
  readonly DeliveryLaneKey: string | null;
  readonly TargetLaneKey: string | null;
  readonly LaneOrdinal: number;
}

export const lockQueuedGenerations = reading(
  'finalize.lockQueuedGenerations',
  (d, n) => `SELECT WorkId, DeliveryLaneKey, TargetLaneKey, LaneOrdinal FROM ${WORK_ITEM}
    WHERE ProjectionQueuedKey IN (${marks(n)}) ORDER BY WorkId${d.forUpdate}`,
  MAX_ITEMS,
);

/** Runs after the ended generations gave their key back: swapping a unique key in one UPDATE is refused (1062). */
export const activateGenerations = writing(
  'finalize.activateGenerations',
  (_, n) => `UPDATE ${WORK_ITEM} SET ProjectionActiveKey = ProjectionKey
    WHERE WorkId IN (${marks(n)}) AND State = 'pending' AND ProjectionActiveKey IS NULL`,
  MAX_ITEMS,
);
