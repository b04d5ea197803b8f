/**
 * What people do, written down: who, what, why, and what came of it.
 *
 *   (none) ──open──▶ running ──advance…──▶ finished
 *
 * An action is known by its id. The same request under the same id is the same action: a double click changes nothing
 * twice, and whoever comes after a crash goes on where it was. The row is locked before anything else, so that two
 * who go on with one action take turns.
 */
import { LaneheadError } from '../../core/errors.js';
import { digestParts } from '../../core/identity.js';
import type { ActionKind } from '../../core/work.js';
import { DuplicateKey } from '../driver.js';
import { type Plan, read, write } from '../plan.js';
import * as sql from '../statements/actions.js';
import type { ActionFilter, ActionRecord, ActionRequest, Page } from '../store.js';

/** Most characters of who and why; what is longer is refused. */
const MAX_ACTOR = 128;
const MAX_REASON = 2_000;
const ID = /^[\x21-\x7e]{1,64}$/;

/**
 * Locks the action, after writing it down where it is new.
 * @throws LaneheadError `invalid_argument`: the id stands for another request, or a field is empty or too long
 */
export function* openAction(request: ActionRequest): Plan<sql.ActionRow> {
  checkRequest(request);
  const [known] = yield* read<sql.ActionRow>(sql.lockAction, [request.actionId]);
  if (known !== undefined) return sameRequest(known, request);
  try {
    yield* write(sql.insertAction, [
      request.actionId,
      request.kind,
      request.actor,
      request.reason,
      request.target,
      targetHash(request),
    ]);
  } catch (error) {
    if (!(error instanceof DuplicateKey)) throw error;
  }
  const [opened] = yield* read<sql.ActionRow>(sql.lockAction, [request.actionId]);
  return sameRequest(opened!, request);
}

function checkRequest({ actionId, actor, reason }: ActionRequest): void {
  if (!ID.test(actionId)) {
    throw new LaneheadError(
      'invalid_argument',
      'an action id is 1 to 64 printable ASCII characters without spaces',
    );
  }
  if (actor.trim() === '' || actor.length > MAX_ACTOR) {
    throw new LaneheadError('invalid_argument', `who acts is 1 to ${MAX_ACTOR} characters`);
  }
  if (reason.trim() === '' || reason.length > MAX_REASON) {
    throw new LaneheadError('invalid_argument', `the reason of an action is 1 to ${MAX_REASON} characters`);
  }
}

/** Of what is asked for, not of who asks and why: the second click may be somebody else's. */
export const targetHash = ({ kind, target }: Pick<ActionRequest, 'kind' | 'target'>): Buffer =>
  digestParts(['action', kind, target]);

function sameRequest(row: sql.ActionRow, request: ActionRequest): sql.ActionRow {
  if (Buffer.compare(row.TargetHash, targetHash(request)) === 0) return row;
  throw new LaneheadError('invalid_argument', `action ${request.actionId} stands for another request`, {
    action: 'Take a new action id, or repeat the request as it was; lanehead actions list shows it.',
  });
}

export interface ActionProgress {
  readonly position: string | null;
  readonly matched: number;
  readonly changed: number;
  readonly skipped: number;
  readonly finished: boolean;
}

/** Writes down what a step did, in its own transaction. The action is locked, and running. @returns it as it is now */
export function* advanceAction(actionId: string, step: ActionProgress): Plan<sql.ActionRow> {
  yield* write(sql.advanceAction, [step.position, step.matched, step.changed, step.skipped, actionId]);
  if (step.finished) yield* write(sql.finishAction, [actionId]);
  const [row] = yield* read<sql.ActionRow>(sql.lockAction, [actionId]);
  return row!;
}

export function toAction(row: sql.ActionRow): ActionRecord {
  return {
    action: row.ActionId,
    kind: row.Kind as ActionKind,
    actor: row.Actor,
    reason: row.Reason,
    target: row.Target,
    status: row.Status as ActionRecord['status'],
    matched: Number(row.Matched),
    changed: Number(row.Changed),
    skipped: Number(row.Skipped),
    createdAt: row.CreatedDate,
    finishedAt: row.FinishedDate,
  };
}

/** Newest first. */
export function* listActions(filter: ActionFilter): Plan<Page<ActionRecord>> {
  const { kind = null, status = null } = filter;
  const [before, id] = readCursor(filter.cursor);
  const rows = yield* read<sql.ActionRow>(sql.listActions, [kind, kind, status, status, before, before, id]);
  const page = rows.slice(0, Math.max(1, Math.min(filter.limit, sql.PAGE_LIMIT)));
  const last = page.at(-1);
  return {
    items: page.map(toAction),
    next: rows.length > page.length && last !== undefined ? `${last.CreatedDate}.${last.ActionId}` : null,
  };
}

function readCursor(cursor: string | undefined): readonly [number, string] {
  if (cursor === undefined) return [Number.MAX_SAFE_INTEGER, ''];
  const dot = cursor.indexOf('.');
  const date = Number(cursor.slice(0, dot));
  if (dot < 1 || !Number.isSafeInteger(date)) {
    throw new LaneheadError('invalid_argument', `no list of actions gave the cursor ${cursor}`);
  }
  return [date, cursor.slice(dot + 1)];
}
