import { drainTable, installedPackTable, namespaceTable } from './m0001-authority.js';
import { eventTable, idempotencyTable, receiptTable } from './m0004-facts.js';
import { projectionTable, schedulerLeaseTable, workItemTable } from './m0007-work.js';
import { limitedTable, limitTable } from './m0010-limits.js';
import { traceTable } from './m0012-trace.js';
import { actionTable, tallyTable } from './m0013-life.js';
import { failureTable, replayTable } from './m0017-people.js';
import type { Migration } from './migration.js';

/** In order of application. Append; never edit or reorder. */
export const MIGRATIONS: readonly Migration[] = [
  namespaceTable,
  installedPackTable,
  drainTable,
  receiptTable,
  idempotencyTable,
  eventTable,
  workItemTable,
  projectionTable,
  schedulerLeaseTable,
  limitTable,
  limitedTable,
  traceTable,
  tallyTable,
  actionTable,
  failureTable,
  replayTable,
];

/** Lane ordinals below this are reserved for history that is materialized later but happened earlier. */
export const FIRST_LANE_ORDINAL = 2 ** 40;
