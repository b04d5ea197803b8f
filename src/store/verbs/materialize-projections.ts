/**
 * Projection generations (PRJ). At most one is active and one queued per key:
 *
 *   (none active) ─▶ active ──terminal──▶ the queued one becomes active (finalize)
 *   (one active)  ─▶ queued ──newer Event──▶ coalesced, superseded by it; its Event is fenced (LEG-7)
 *
 * Enqueue locks the active generation's row, so that its end and the queueing of its successor cannot miss each other.
 */
import { Contention } from '../driver.js';
import { type Plan, read, write } from '../plan.js';
import * as sql from '../statements/materialize.js';
import type { Authority, NewItem, WorkEntry } from './materialize-entry.js';
import { endingOf } from './tally.js';

/** Decides for each projected item, in ordinal order, whether it is active or queued; replaces what was queued. */
export function* queueProjections(locked: Authority, items: readonly NewItem[]): Plan<void> {
  const byKey = new Map<string, WorkEntry[]>();
  for (const { entry } of items) {
    const key = entry.event!.projectionKey;
    if (key !== null && entry.end === null) byKey.set(key, [...(byKey.get(key) ?? []), entry]);
  }
  for (const key of [...byKey.keys()].sort()) yield* queueGenerations(locked, key, byKey.get(key)!);
}

function* queueGenerations(locked: Authority, key: string, entries: readonly WorkEntry[]): Plan<void> {
  let generation = yield* takeGenerations(locked, key, entries);
  const { hasActive, queued } = yield* lockGenerations(key);
  let active = hasActive;
  let waiting: WorkEntry | null = null;
  for (const entry of entries) {
    entry.projection = { generation: generation++, active: !active };
    if (!active) {
      active = true;
      continue;
    }
    if (waiting !== null) yield* supersedeNew(waiting, entry);
    waiting = entry;
  }
  if (waiting !== null && queued !== null) {
    yield* write(sql.coalesceQueuedGeneration, [waiting.event!.workId, queued.WorkId]);
    yield* write(sql.fenceEvent, [queued.EventId]);
    locked.endings.push(endingOf({ ...queued, PackId: locked.packId }, 'coalesced'));
  }
}

/** Generation numbers of a key rise for ever; its row outlives its items. */
function* takeGenerations(locked: Authority, key: string, entries: readonly WorkEntry[]): Plan<number> {
  const [row] = yield* read<{ Generation: number }>(sql.lockProjection, [key]);
  const last = (row?.Generation ?? 0) + entries.length;
  if (row !== undefined) {
    yield* write(sql.advanceProjection, [last, key]);
  } else {
    const { route, event } = entries[0]!;
    yield* write(sql.insertProjection, [key, locked.packId, route, event!.sourceKey, last, locked.nowMs]);
  }
  return last - entries.length + 1;
}

interface QueuedRow {
  readonly WorkId: string;
  readonly EventId: string;
  readonly QueueClass: string;
}

/** Locks in the house order: the queued one's Event, then the WorkItems. */
function* lockGenerations(key: string): Plan<{ hasActive: boolean; queued: QueuedRow | null }> {
  const [seen] = yield* read<QueuedRow>(sql.findQueuedGeneration, [key]);
  if (seen !== undefined) yield* read(sql.lockEvent, [seen.EventId]);
  const active = yield* read(sql.lockActiveGeneration, [key]);
  const [queued] = yield* read<QueuedRow>(sql.lockQueuedGeneration, [key]);
  if (queued !== undefined && queued.WorkId !== seen?.WorkId) {
    throw new Contention(`projection ${key}: its queued generation changed while it was being replaced`);
  }
  return { hasActive: active.length > 0 || queued !== undefined, queued: queued ?? null };
}

/** A queued generation that is replaced before it was ever inserted. */
function* supersedeNew(entry: WorkEntry, by: WorkEntry): Plan<void> {
  entry.end = { state: 'coalesced', supersededBy: by.event!.workId };
  yield* write(sql.fenceEvent, [entry.eventId]);
}
