import { reading, writing } from '../statement.js';
import { ACTION } from './tables.js';

export interface ActionRow {
  readonly ActionId: string;
  readonly Kind: string;
  readonly Actor: string;
  readonly Reason: string;
  readonly Target: string;
  readonly TargetHash: Uint8Array;
  readonly Status: string;
  readonly Position: string | null;
  readonly Matched: number;
  readonly Changed: number;
  readonly Skipped: number;
  readonly CreatedDate: number;
  readonly UpdatedDate: number;
  readonly FinishedDate: number | null;
}

const COLUMNS = `ActionId, Kind, Actor, Reason, Target, TargetHash, Status, Position, Matched, Changed, Skipped,
  CreatedDate, UpdatedDate, FinishedDate`;

/** Parameters: id, kind, actor, reason, target, hash. */
export const insertAction = writing(
  'actions.insert',
  (d) => `INSERT INTO ${ACTION} (ActionId, Kind, Actor, Reason, Target, TargetHash, CreatedDate, UpdatedDate)
    VALUES (?, ?, ?, ?, ?, ?, ${d.now}, ${d.now})`,
);

export const lockAction = reading(
  'actions.lock',
  (d) => `SELECT ${COLUMNS} FROM ${ACTION} WHERE ActionId = ?${d.forUpdate}`,
);

/** Parameters: position, matched, changed, skipped, id. */
export const advanceAction = writing(
  'actions.advance',
  (
    d,
  ) => `UPDATE ${ACTION} SET Position = ?, Matched = Matched + ?, Changed = Changed + ?, Skipped = Skipped + ?,
      UpdatedDate = ${d.now}
    WHERE ActionId = ? AND Status = 'running'`,
);

export const finishAction = writing(
  'actions.finish',
  (d) => `UPDATE ${ACTION} SET Status = 'finished', FinishedDate = ${d.now}, UpdatedDate = ${d.now}
    WHERE ActionId = ? AND Status = 'running'`,
);

/** Rows a page reads. */
export const PAGE_LIMIT = 200;

/** Newest first. Parameters: (kind ×2), (status ×2), date, date, id: what comes before that date, or at it with a smaller id. */
export const listActions = reading(
  'actions.list',
  () => `SELECT ${COLUMNS} FROM ${ACTION}
    WHERE (? IS NULL OR Kind = ?) AND (? IS NULL OR Status = ?)
      AND (CreatedDate < ? OR (CreatedDate = ? AND ActionId < ?))
    ORDER BY CreatedDate DESC, ActionId DESC LIMIT ${PAGE_LIMIT + 1}`,
);
