/**
 *   held    ──retry──▶ pending, due now, with its whole budget again
 *           ──skip───▶ skipped ┐
 *           ──end────▶ dead    ├ its projection hands off and its lanes go on, in the same transaction
 *   pending ──cancel─▶ skipped ┘ and its Event is fenced (LEG-7): it never runs
 *
 * The one way out of `held`, and the one way around a claim. What runs is nobody's to end but its holder's.
 */
import type { Enqueued, QueueClass, WorkItemState } from '../../core/work.js';
import type { Plan } from '../plan.js';
import * as claims from '../statements/claim.js';
import * as sql from '../statements/decide.js';
import type { TargetRow } from '../statements/targets.js';
import type { WorkAction } from '../store.js';
import { ids, readList, writeList } from './batches.js';
import { forgetFailures } from './failures.js';
import { expectAll, leaveLanes, lockRows } from './finalize.js';
import type { Done, Refusal } from './replay.js';
import { endingOf, noteEnded } from './tally.js';

type ItemRow = claims.ItemRow;

export interface Decision {
  readonly kind: Exclude<WorkAction, 'replay'>;
  readonly reason: string;
}

const FROM = { retry: 'held', skip: 'held', end: 'held', cancel: 'pending' } as const;
const TO = { retry: 'pending', skip: 'skipped', end: 'dead', cancel: 'skipped' } as const;

export function* decide(decision: Decision, targets: readonly TargetRow[]): Plan<Done> {
  const { kind } = decision;
  const owners = kind === 'cancel' ? yield* lockOwners(targets) : NOBODY;
  const rows = yield* lockRows(targets.map(({ WorkId }) => WorkId).filter((id) => id !== null));
  const chosen: ItemRow[] = [];
  const refused: Refusal[] = [];
  for (const { EventId, WorkId } of targets) {
    const row = rows.get(WorkId ?? '');
    const why = refusalOf(decision, row) ?? foreignness(owners.get(EventId));
    if (why === null) chosen.push(row!);
    else refused.push({ eventId: EventId, why, isDone: false });
  }
  const workIds = chosen.map((row) => row.WorkId).sort();
  expectAll(workIds.length, yield* change(decision, workIds));
  if (kind === 'cancel')
    yield* writeList(claims.transferEvents, ids([...new Set(chosen.map((row) => row.EventId))].sort()));
  yield* kind === 'retry' ? leaveLanes([], chosen) : leaveLanes(chosen);
  yield* forgetFailures(workIds);
  if (kind !== 'retry') yield* noteEnded(chosen.map((row) => endingOf(row, TO[kind])));
  return { changed: chosen.length, refused, enqueued: enqueuedOf(chosen) };
}

function refusalOf({ kind }: Decision, row: ItemRow | undefined): string | null {
  if (row === undefined) return 'it has no work';
  const state = row.State as WorkItemState;
  if (state === FROM[kind]) return null;
  if (kind === 'cancel')
    return state === 'processing'
      ? 'it is running, and only its run ends it'
      : `it is not pending, it is ${state}`;
  return `its work is not held, it is ${state}`;
}

// ── whose Event it is ────────────────────────────────────────────────────────────────────────────────────

const NOBODY: ReadonlyMap<string, claims.EventOwnerRow> = new Map();

function* lockOwners(targets: readonly TargetRow[]): Plan<ReadonlyMap<string, claims.EventOwnerRow>> {
  const eventIds = [...new Set(targets.map(({ EventId }) => EventId))].sort();
  const rows = yield* readList<claims.EventOwnerRow>(claims.lockEventOwners, ids(eventIds));
  return new Map(rows.map((row) => [row.EventId, row]));
}

/** EVO-4, EVO-10: what an older version runs or has ended is not pending, whatever the item says. */
function foreignness(event: claims.EventOwnerRow | undefined): string | null {
  if (event === undefined || event.ExecutionOwner === 'work_item') return null;
  if (event.Status === 'pending' || event.Status === 'failed') return null;
  return event.Status === 'processing' ? 'an older version is running it' : 'an older version has ended it';
}

// ── rows ─────────────────────────────────────────────────────────────────────────────────────────────────

function* change({ kind, reason }: Decision, workIds: readonly string[]): Plan<number> {
  const list = ids(workIds);
  if (kind === 'retry') return yield* writeList(sql.retryHeld, list);
  if (kind === 'cancel') return yield* writeList(sql.cancelPending, list, (padded) => [reason, ...padded]);
  return yield* writeList(sql.endHeld, list, (padded) => [TO[kind], ...padded]);
}

/** Of what ends, its lanes go on: with items of any class. */
function enqueuedOf(rows: readonly ItemRow[]): readonly Enqueued[] {
  return [...new Set(rows.map((row) => row.PackId))].map((packId) => {
    const own = rows.filter((row) => row.PackId === packId);
    return { packId, queueClasses: [...new Set(own.map((row) => row.QueueClass as QueueClass))] };
  });
}
