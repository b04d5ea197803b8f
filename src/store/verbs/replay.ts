/**
 * An ended item runs once more, as a new Event with a new item: what ended stays what it was.
 *
 *   namespaces, packs ─▶ Events (an older replayer's mark) ─▶ items, by a current read ─▶ reserved ─▶ children enter
 *
 * The reservation is `WorkItem.ReplayedAt`, a CAS under these locks (RPL-1): an item has one child. The Event's own
 * mark is only read (RPL-2), except where an older version ended it: then that is where older replayers look.
 * The child shares its parent's receipt, with headers, trace and a shared body: a receipt lives as long as its Events.
 */
import { digestParts } from '../../core/identity.js';
import type { NewId } from '../../core/ids.js';
import type { Enqueued } from '../../core/work.js';
import { type Plan, read, write } from '../plan.js';
import * as authority from '../statements/authority.js';
import * as sql from '../statements/replay.js';
import type { TargetRow } from '../statements/targets.js';
import { ids, insertList, readList, writeList } from './batches.js';
import { forgetFailures } from './failures.js';
import { expectAll } from './finalize.js';
import { type Authority, authorityOf, type NewItem, type WorkEntry } from './materialize-entry.js';
import { putItems } from './materialize-work.js';
import { noteEnded } from './tally.js';
import { ENDED } from './targets.js';

/** What became of the targets of a step. */
export interface Done {
  readonly changed: number;
  readonly refused: readonly Refusal[];
  readonly enqueued: readonly Enqueued[];
}

export interface Refusal {
  readonly eventId: string;
  readonly why: string;
  /** It is as the action wants it: no error. */
  readonly isDone: boolean;
}

interface Parent {
  readonly item: sql.ParentItemRow;
  readonly event: sql.ParentEventRow;
}

export interface ReplayOf {
  readonly actionId: string;
  readonly newId: NewId;
}

export function* replay(of: ReplayOf, targets: readonly TargetRow[]): Plan<Done> {
  const packs = yield* lockPacks(targets);
  const events = yield* lockEvents(targets);
  const workIds = targets.map(({ WorkId }) => WorkId).filter((id) => id !== null);
  const rows = yield* readList<sql.ParentItemRow>(sql.lockParentItems, ids(workIds.sort()));
  const items = new Map(rows.map((row) => [row.WorkId, row]));
  const parents: Parent[] = [];
  const refused: Refusal[] = [];
  for (const target of targets) {
    const item = items.get(target.WorkId ?? '');
    const event = events.get(target.EventId);
    const refusal = refusalOf(target, item, event, packs);
    if (refusal !== null) refused.push({ eventId: target.EventId, ...refusal });
    else parents.push({ item: item!, event: event! });
  }
  yield* reserve(parents);
  // In the order of their lanes: what came first runs first again.
  parents.sort((a, b) => a.item.LaneOrdinal - b.item.LaneOrdinal);
  for (const { authority: locked } of packs.values()) {
    yield* bear(
      of,
      locked,
      parents.filter(({ item }) => item.PackId === locked.packId),
    );
  }
  yield* forgetFailures(parents.map(({ item }) => item.WorkId));
  yield* noteEnded([...packs.values()].flatMap(({ authority: locked }) => locked.endings));
  return { changed: parents.length, refused, enqueued: enqueuedOf(parents) };
}

// ── locks, in the house order ────────────────────────────────────────────────────────────────────────────

interface LockedPack {
  readonly authority: Authority;
  readonly status: string;
}

function* lockPacks(targets: readonly TargetRow[]): Plan<Map<number, LockedPack>> {
  const namespaces = [...new Set(targets.map(({ Namespace }) => Namespace))].sort();
  for (const namespace of namespaces) yield* read(authority.lockNamespace, [namespace]);
  const packIds = [...new Set(targets.map(({ PackId }) => PackId))].sort((a, b) => a - b);
  const packs = new Map<number, LockedPack>();
  for (const packId of packIds) {
    const [row] = yield* read<authority.PackRow>(authority.lockPack, [packId]);
    packs.set(packId, { authority: authorityOf(row!), status: row!.Status });
  }
  return packs;
}

/** With them those of the queued generations that children may replace: they come before every item. */
function* lockEvents(targets: readonly TargetRow[]): Plan<Map<string, sql.ParentEventRow>> {
  const projections = targets.map((row) => row.ProjectionKey).filter((key) => key !== null);
  const queued = yield* readList<{ EventId: string }>(sql.queuedEvents, ids([...new Set(projections)]));
  const eventIds = new Set([...targets, ...queued].map((row) => row.EventId));
  const rows = yield* readList<sql.ParentEventRow>(sql.lockParentEvents, ids([...eventIds].sort()));
  return new Map(rows.map((row) => [row.EventId, row]));
}

// ── which may be replayed ────────────────────────────────────────────────────────────────────────────────

function refusalOf(
  target: TargetRow,
  item: sql.ParentItemRow | undefined,
  event: sql.ParentEventRow | undefined,
  packs: ReadonlyMap<number, LockedPack>,
): Omit<Refusal, 'eventId'> | null {
  const no = (why: string) => ({ why, isDone: false });
  if (event === undefined) return no('it is gone');
  if (target.WorkId === null)
    return no('an older version stored it, and it has no work yet: its redelivery brings that');
  if (item === undefined) return no('its work is gone');
  if (item.ReplayedAt !== null) return { why: 'it was replayed before', isDone: true };
  if (event.ReplayedAt !== null) return no('an older version has replayed it');
  if (!ENDED.includes(item.State)) return no(`it has not ended, it is ${item.State}`);
  if (packs.get(item.PackId)!.status === 'retired') return no('its pack is retired');
  return null;
}

function* reserve(parents: readonly Parent[]): Plan<void> {
  const workIds = parents.map(({ item }) => item.WorkId).sort();
  expectAll(workIds.length, yield* writeList(sql.reserveReplays, ids(workIds)));
  const older = parents.filter(({ event }) => event.ExecutionOwner === 'event');
  yield* writeList(sql.markEventsReplayed, ids(older.map(({ event }) => event.EventId).sort()));
}

// ── children ─────────────────────────────────────────────────────────────────────────────────────────────

function* bear({ actionId, newId }: ReplayOf, locked: Authority, parents: readonly Parent[]): Plan<void> {
  if (parents.length === 0) return;
  const items = parents.map((parent): NewItem => {
    return { entry: childOf(parent, newId), ordinal: locked.nextLaneOrdinal++, readiness: 0 };
  });
  for (const [place, { event }] of parents.entries()) {
    const { eventId, key } = items[place]!.entry;
    expectAll(1, yield* write(sql.insertChildEvent, [eventId, key, event.EventId]));
  }
  const lineage = items.map(({ entry }, place) => {
    return [parents[place]!.event.EventId, entry.eventId, actionId, locked.nowMs];
  });
  yield* putItems(locked, items);
  yield* write(authority.advanceOrdinals, [locked.nextLaneOrdinal, locked.nextHistoryOrdinal, locked.packId]);
  yield* insertList(sql.insertReplays, lineage);
}

/** Everything but its ids, its key and its place in the lanes is its parent's, its route version too. */
function childOf({ item, event }: Parent, newId: NewId): WorkEntry {
  return {
    route: item.Route,
    key: digestParts(['replay', event.EventId]),
    eventId: newId('evt'),
    end: null,
    projection: null,
    event: {
      workId: newId('wrk'),
      sourceKey: event.SourceKey,
      ordinal: event.DeliveryOrdinal,
      routeVersion: item.RouteVersion,
      queueClass: item.QueueClass,
      laneKey: item.LaneKey,
      deliveryLaneKey: item.DeliveryLaneKey,
      targetLaneKey: item.TargetLaneKey,
      projectionKey: item.ProjectionKey,
      runAfter: null,
      failureBudget: item.FailureBudget,
      onDead: item.OnDead,
    },
  };
}

function enqueuedOf(parents: readonly Parent[]): readonly Enqueued[] {
  const packIds = [...new Set(parents.map(({ item }) => item.PackId))];
  return packIds.map((packId) => {
    const own = parents.filter(({ item }) => item.PackId === packId);
    return { packId, queueClasses: [...new Set(own.map(({ item }) => item.QueueClass))] };
  });
}
