import { marks, reading, writing } from '../statement.js';
import { FAILURE, PACK } from './tables.js';

const MAX_ITEMS = 64;

/** Parameters: work, event, pack, fingerprint, route, code, message. */
export const insertFailure = writing(
  'failures.insert',
  (d) => `INSERT INTO ${FAILURE}
    (WorkId, EventId, PackId, Fingerprint, Route, ErrorCode, Message, FailedDate)
    VALUES (?, ?, ?, ?, ?, ?, ?, ${d.now})`,
);

export const deleteFailures = writing(
  'failures.delete',
  (_, n) => `DELETE FROM ${FAILURE} WHERE WorkId IN (${marks(n)})`,
  MAX_ITEMS,
);

export interface FailureGroupRow {
  readonly Fingerprint: string;
  readonly Namespace: string;
  readonly Pack: string;
  readonly Route: string;
  readonly ErrorCode: string;
  readonly Message: string;
  readonly FailedDate: number;
}

/** The first failure of the next group after a fingerprint: one step along the index, however large the groups. */
export const nextGroup = reading(
  'failures.nextGroup',
  () => `SELECT f.Fingerprint AS Fingerprint, p.Namespace AS Namespace, p.Pack AS Pack, f.Route AS Route,
      f.ErrorCode AS ErrorCode, f.Message AS Message, f.FailedDate AS FailedDate
    FROM (SELECT WorkId, PackId, Fingerprint, Route, ErrorCode, Message, FailedDate FROM ${FAILURE}
      WHERE Fingerprint > ? ORDER BY Fingerprint, FailedDate, WorkId LIMIT 1) f
    JOIN ${PACK} p ON p.PackId = f.PackId`,
);

export interface LastFailureRow {
  readonly EventId: string;
  readonly FailedDate: number;
}

export const lastOfGroup = reading(
  'failures.lastOfGroup',
  () => `SELECT EventId, FailedDate FROM ${FAILURE} WHERE Fingerprint = ?
    ORDER BY Fingerprint DESC, FailedDate DESC, WorkId DESC LIMIT 1`,
);

/** Most failures of a group that are counted. */
export const COUNT_LIMIT = 10_000;

export const countGroup = reading(
  'failures.countGroup',
  () => `SELECT COUNT(*) AS Total FROM
    (SELECT WorkId FROM ${FAILURE} WHERE Fingerprint = ? LIMIT ${COUNT_LIMIT}) q`,
);
