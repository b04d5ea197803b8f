import { marks, writing } from '../statement.js';
import { WORK_ITEM } from './tables.js';

const MAX_ITEMS = 64;

/** A new budget, or the next failure would hold it at once. `Attempt` goes on counting. */
export const retryHeld = writing(
  'decide.retryHeld',
  (d, n) => `UPDATE ${WORK_ITEM} SET State = 'pending', Readiness = 2, Failures = 0, RunAfter = ${d.now}
    WHERE State = 'held' AND WorkId IN (${marks(n)})`,
  MAX_ITEMS,
);

/** Parameters: state, ids…. */
export const endHeld = writing(
  'decide.endHeld',
  (d, n) => `UPDATE ${WORK_ITEM} SET State = ?, ProjectionActiveKey = NULL, TerminalDate = ${d.now}
    WHERE State = 'held' AND WorkId IN (${marks(n)})`,
  MAX_ITEMS,
);

/** Parameters: reason, ids…. */
export const cancelPending = writing(
  'decide.cancelPending',
  (d, n) => `UPDATE ${WORK_ITEM} SET State = 'skipped', ProjectionActiveKey = NULL, TerminalDate = ${d.now},
      LastErrorCode = 'cancelled', LastError = ?
    WHERE State = 'pending' AND WorkId IN (${marks(n)})`,
  MAX_ITEMS,
);
