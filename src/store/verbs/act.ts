/**
 * What a person asks for, in steps. Each is one transaction of at most 64 items that takes the action first and moves
 * its position last, so that one which is repeated, by a second click or after a COMMIT without an answer, goes on
 * where the last one ended:
 *
 *   action locked ─▶ finished? its result │ targets after the position ─▶ replayed or decided ─▶ position, counts
 */
import { LaneheadError } from '../../core/errors.js';
import type { NewId } from '../../core/ids.js';
import { type Plan, read } from '../plan.js';
import { databaseNow } from '../statements/targets.js';
import type { ActionStep, PreviewStep, StepOptions, WorkRequest } from '../store.js';
import { advanceAction, openAction, toAction } from './actions.js';
import { decide } from './decide.js';
import { type Done, replay } from './replay.js';
import { checkFilter, findTargets, isLeft, type TargetStep, targetText } from './targets.js';

/** Items of a step; authority rows are locked meanwhile. */
const MAX_STEP = 64;

/**
 * @throws LaneheadError `invalid_argument` where the request makes no sense, or its one Event cannot be acted on;
 * `not_found`: there is no such Event. Nothing is written down then.
 */
export function* act(
  request: WorkRequest,
  { limit = MAX_STEP }: StepOptions,
  newId: NewId,
): Plan<ActionStep> {
  checkFilter(request);
  const { actionId, kind, actor, reason, filter } = request;
  const action = yield* openAction({ actionId, kind, actor, reason, target: targetText(request) });
  if (action.Status === 'finished') return { action: toAction(action), changed: 0, enqueued: [] };
  const walk = { kind, filter, actionId, beganAt: action.CreatedDate };
  const step = yield* findTargets(walk, action.Position, Math.max(1, Math.min(limit, MAX_STEP)));
  const done =
    kind === 'replay'
      ? yield* replay({ actionId, newId }, step.targets)
      : yield* decide({ kind, reason }, step.targets);
  requireDone(request, step, done);
  const matched = step.targets.length;
  const { changed, enqueued } = done;
  const counts = { matched, changed, skipped: matched - changed };
  const { position, finished } = step;
  const after = yield* advanceAction(actionId, { ...counts, position, finished });
  return { action: toAction(after), changed, enqueued };
}

/** One Event that cannot be acted on is an error, and no action; of many, it is one that is left as it is. */
function requireDone(
  { kind, filter }: WorkRequest,
  { targets }: TargetStep,
  { changed, refused }: Done,
): void {
  if (filter.event === undefined || changed > 0) return;
  if (targets.length === 0) throw new LaneheadError('not_found', `no Event has the id ${filter.event}`);
  const problem = refused.find(({ isDone }) => !isDone);
  if (problem === undefined) return;
  throw new LaneheadError('invalid_argument', `cannot ${kind} ${filter.event}: ${problem.why}`);
}

/** Counts what the action would find now, and changes nothing. */
export function* preview(
  request: Pick<WorkRequest, 'kind' | 'filter'>,
  position: string | null,
): Plan<PreviewStep> {
  checkFilter(request);
  const [{ Now: beganAt }] = (yield* read<{ Now: number }>(databaseNow)) as [{ Now: number }];
  const walk = { ...request, actionId: '', beganAt };
  const { targets, finished, ...step } = yield* findTargets(walk, position, Number.MAX_SAFE_INTEGER);
  if (request.filter.event !== undefined && targets.length === 0)
    throw new LaneheadError('not_found', `no Event has the id ${request.filter.event}`);
  const skipped = targets.filter((row) => isLeft(request.kind, row)).length;
  return { matched: targets.length, skipped, position: finished ? null : step.position };
}
