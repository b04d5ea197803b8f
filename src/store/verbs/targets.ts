/**
 * Which items an action is about, step by step. One Event is one step; a group of failures and everything else are
 * walked along an index, so that a step costs the same however much is stored:
 *
 *   position ─▶ rows of the step ─▶ those that the filter means, as many as fit ─▶ next position
 *
 * Plain reads: a target is looked at again under the locks of whatever changes it.
 */
import { LaneheadError } from '../../core/errors.js';
import type { WorkItemState } from '../../core/work.js';
import { type Plan, read } from '../plan.js';
import type { TargetRow } from '../statements/targets.js';
import * as sql from '../statements/targets.js';
import type { WorkAction, WorkFilter, WorkRequest } from '../store.js';

export interface Walk {
  readonly kind: WorkAction;
  readonly filter: WorkFilter;
  readonly actionId: string;
  /** What failed later is no part of it; epoch ms of the database. */
  readonly beganAt: number;
}

export interface TargetStep {
  readonly targets: readonly TargetRow[];
  readonly position: string | null;
  readonly finished: boolean;
}

export const ENDED: readonly WorkItemState[] = ['completed', 'skipped', 'dead', 'coalesced'];

/** Equal requests have equal texts: the order of the keys is this one. */
export function targetText({ kind, filter }: Pick<WorkRequest, 'kind' | 'filter'>): string {
  const { event, fingerprint, namespace, pack, route, sourceKey, since, until } = filter;
  const states =
    filter.event !== undefined || kind !== 'replay' ? undefined : [...statesOf(kind, filter)].sort();
  return JSON.stringify({ event, fingerprint, namespace, pack, route, sourceKey, states, since, until });
}

/** @throws LaneheadError `invalid_argument` where nobody can tell what is meant */
export function checkFilter({ kind, filter }: Pick<WorkRequest, 'kind' | 'filter'>): void {
  const { states, ...others } = filter;
  if (Object.values(others).every((value) => value === undefined))
    throw new LaneheadError('invalid_argument', `say what to ${kind}: one Event, or which ones`);
  if (kind !== 'replay' && states !== undefined)
    throw new LaneheadError('invalid_argument', `${kind} knows by itself which states it is for`);
  const open = states?.find((state) => !ENDED.includes(state));
  if (open !== undefined)
    throw new LaneheadError('invalid_argument', `only what has ended is replayed, and ${open} has not`);
  if (kind === 'replay' && filter.event === undefined && statesOf(kind, filter).length === 0)
    throw new LaneheadError('invalid_argument', `say which states to replay: ${ENDED.join(', ')}`);
}

/** Of an item that a step takes; of one Event, whatever state its items are in. */
function statesOf(kind: WorkAction, { states, fingerprint }: WorkFilter): readonly WorkItemState[] {
  if (kind === 'cancel') return ['pending'];
  if (kind !== 'replay') return ['held'];
  return states ?? (fingerprint === undefined ? [] : ['dead']);
}

export function* findTargets(walk: Walk, position: string | null, limit: number): Plan<TargetStep> {
  const { event, fingerprint } = walk.filter;
  if (event !== undefined) {
    const rows = yield* read<TargetRow>(sql.targetsOfEvent, [event]);
    const targets = rows.filter((row) => isMeant(walk.filter, row) && isOf(walk.kind, row));
    return { targets, position: null, finished: true };
  }
  const rows =
    fingerprint === undefined
      ? yield* read<TargetRow>(sql.targetsAfter, [position ?? '', walk.actionId])
      : yield* read<TargetRow>(sql.targetsOfGroup, [fingerprint, walk.beganAt, ...groupPosition(position)]);
  const states = statesOf(walk.kind, walk.filter);
  const isLast = rows.length < sql.WALK_LIMIT;
  const looked = isLast ? rows : together(rows, rows.length - 1);
  const meant = looked.filter((row) => isMeant(walk.filter, row) && isWalked(walk, states, row));
  const targets = together(meant, limit);
  const last = targets.length < meant.length ? targets.at(-1) : looked.at(-1);
  return {
    targets,
    position: last === undefined ? position : positionOf(last),
    finished: isLast && targets.length === meant.length,
  };
}

/** Of an id: what it is, and when it was made. */
const MOMENT_CHARACTERS = 'evt_'.length + 10;

/**
 * The first `limit` rows. Ids of one millisecond are in no order, so such rows are not torn apart where that can be: a
 * step takes its targets in the order of their lanes.
 */
function together(rows: readonly TargetRow[], limit: number): readonly TargetRow[] {
  const momentAt = (place: number) => rows[place]?.EventId.slice(0, MOMENT_CHARACTERS);
  if (rows.length <= limit) return rows;
  let count = limit;
  while (count > 0 && momentAt(count - 1) === momentAt(count)) count--;
  return rows.slice(0, count > 0 ? count : limit);
}

/** What is replayed is the Event: of its items, the one that stands for it. */
const isOf = (kind: WorkAction, { WorkType }: TargetRow): boolean =>
  kind !== 'replay' || WorkType === null || WorkType === 'connector_event';

function isMeant(filter: WorkFilter, row: TargetRow): boolean {
  return (
    (filter.namespace ?? row.Namespace) === row.Namespace &&
    (filter.pack ?? row.Pack) === row.Pack &&
    (filter.route ?? row.Route) === row.Route &&
    (filter.sourceKey ?? row.SourceKey) === row.SourceKey &&
    (filter.since === undefined || row.ReceivedDate >= filter.since) &&
    (filter.until === undefined || row.ReceivedDate < filter.until)
  );
}

/** What came after the action began is no target of it, nor what it made itself: it would go on for ever. */
function isWalked(walk: Walk, states: readonly WorkItemState[], row: TargetRow): boolean {
  const { State, MadeBy, CreatedDate } = row;
  return (
    MadeBy === null &&
    CreatedDate <= walk.beganAt &&
    State !== null &&
    states.includes(State as WorkItemState)
  );
}

/** As a plain read sees it: the action would leave it as it is. */
export function isLeft(kind: WorkAction, row: TargetRow): boolean {
  if (kind !== 'replay') return !statesOf(kind, {}).includes(row.State as WorkItemState);
  return (
    row.PackStatus === 'retired' ||
    (row.ReplayedAt ?? row.EventReplayedAt) !== null ||
    !ENDED.includes(row.State as WorkItemState)
  );
}

const positionOf = ({ EventId, WorkId, FailedDate }: TargetRow): string =>
  FailedDate === null ? EventId : `${FailedDate}.${WorkId}`;

function groupPosition(position: string | null): readonly [number, number, string] {
  if (position === null) return [0, 0, ''];
  const dot = position.indexOf('.');
  const date = Number(position.slice(0, dot));
  return [date, date, position.slice(dot + 1)];
}
