import type { Param, Plan } from '../plan.js';
import * as sql from '../statements/materialize.js';
import { ids, readList } from './batches.js';
import { insertConverging } from './converge.js';
import type { Authority, Entry, NewItem, WorkEntry } from './materialize-entry.js';
import { storeApart } from './materialize-events.js';
import { queueProjections } from './materialize-projections.js';

/**
 * Gives every new Event its WorkItem, and every known Event that still stands without one (an older writer's, or a
 * half-done repair): history takes ordinals from the reserved low range, so that it runs first.
 */
export function* insertWorkItems(locked: Authority, entries: readonly Entry[]): Plan<void> {
  const uncovered = yield* uncoveredEvents(entries);
  const items: NewItem<Entry>[] = [];
  for (const entry of entries) {
    if (entry.event === null) continue;
    if (entry.fate === 'new') items.push({ entry, ordinal: locked.nextLaneOrdinal++, readiness: 0 });
    else if (uncovered.delete(entry.eventId!)) {
      items.push({ entry, ordinal: locked.nextHistoryOrdinal++, readiness: 0 });
    }
  }
  const foreign = yield* putItems(locked, items);
  if (foreign.length === 0) return;
  // MAT-4: the Event has an item of another identity. Nothing is taken over: this row is stored apart.
  yield* storeApart(locked, foreign);
  yield* putItems(
    locked,
    foreign
      .filter((entry) => entry.fate === 'new')
      .map((entry): NewItem<Entry> => ({ entry, ordinal: locked.nextLaneOrdinal++, readiness: 0 })),
  );
}

/**
 * Items enter their projections and lanes, under the locks of their pack.
 * @returns entries whose Event has a WorkItem of another identity.
 */
export function* putItems<E extends WorkEntry>(locked: Authority, items: NewItem<E>[]): Plan<E[]> {
  if (items.length === 0) return [];
  items.sort((a, b) => a.ordinal - b.ordinal);
  yield* queueProjections(locked, items);
  yield* markNewHeads(locked, items);
  const winners = yield* insertConverging<NewItem<E>, sql.WorkIdentityRow>(
    { statement: sql.insertWorkItems, row: (item) => itemRow(locked, item), current: currentItems },
    items,
  );
  for (const item of items) {
    const { end, event } = item.entry;
    if (end === null || winners.has(item)) continue;
    const { workId, queueClass } = event!;
    locked.endings.push({ workId, packId: locked.packId, queueClass, state: end.state });
  }
  return [...winners].filter(([item, row]) => !sameIdentity(locked, item, row)).map(([item]) => item.entry);
}

function* uncoveredEvents(entries: readonly Entry[]): Plan<Set<string>> {
  const known = entries.filter((entry) => entry.fate === 'known' && entry.eventId !== null);
  // An Event that comes twice in one commit is known and new: its item is about to be inserted, and is no history.
  const fresh = new Set(entries.filter((entry) => entry.fate === 'new').map((entry) => entry.eventId));
  const eventIds = [...new Set(known.map((entry) => entry.eventId!))].filter((id) => !fresh.has(id));
  const rows = yield* readList<{ EventId: string }>(sql.uncoveredEvents, ids(eventIds));
  return new Set(rows.map((row) => row.EventId));
}

// ── heads ────────────────────────────────────────────────────────────────────────────────────────────────

const TAILS = [
  { statement: sql.sourceTails, laneOf: (item: NewItem) => item.entry.event!.laneKey },
  { statement: sql.deliveryTails, laneOf: (item: NewItem) => item.entry.event!.deliveryLaneKey },
  { statement: sql.targetTails, laneOf: (item: NewItem) => item.entry.event!.targetLaneKey },
];

const participates = (item: NewItem): boolean =>
  item.entry.end === null && (item.entry.projection === null || item.entry.projection.active);

/**
 * Decides who is head. The item a new one would wait for is locked before that is believed: it then cannot end
 * before we commit, and whoever ends it finds us. One that has ended meanwhile leaves the mark set; a false mark
 * costs one missed claim, a lost one would cost the lane.
 */
function* markNewHeads(locked: Authority, items: readonly NewItem[]): Plan<void> {
  const taking = items.filter(participates);
  const waited = yield* openTails(taking);
  for (const item of taking) {
    const lanes = lanesOf(item);
    const blocked = lanes.some((lane) => waited.has(lane));
    for (const lane of lanes) waited.add(lane);
    item.readiness = blocked ? 0 : runAfter(locked, item) > locked.nowMs ? 1 : 2;
  }
}

/** The lanes of these items in which an open item comes before them; that item is locked. */
function* openTails(items: readonly NewItem[]): Plan<Set<string>> {
  const tails: { WorkId: string; Lane: string; before: number }[] = [];
  for (const { statement, laneOf } of TAILS) {
    const first = new Map<string, number>();
    for (const item of items) {
      const lane = laneOf(item);
      if (lane !== null && !first.has(lane)) first.set(lane, item.ordinal);
    }
    const found = yield* readList<{ WorkId: string; Lane: string }>(statement, [...first]);
    tails.push(...found.map((row) => ({ ...row, before: first.get(row.Lane)! })));
  }
  const workIds = [...new Set(tails.map((row) => row.WorkId))].sort();
  const open = yield* readList<{ WorkId: string; LaneRank: number }>(sql.lockOpenItems, ids(workIds));
  // One that ran, and was given back meanwhile, waits again in its own place: behind an item of history.
  const ranks = new Map(open.map((row) => [row.WorkId, row.LaneRank]));
  const ahead = tails.filter(({ WorkId, before }) => (ranks.get(WorkId) ?? before) < before);
  return new Set(ahead.map((row) => row.Lane));
}

function lanesOf(item: NewItem): string[] {
  return TAILS.map(({ laneOf }) => laneOf(item)).filter((lane): lane is string => lane !== null);
}

// ── rows ─────────────────────────────────────────────────────────────────────────────────────────────────

function* currentItems<I extends NewItem>(items: readonly I[]): Plan<Map<I, sql.WorkIdentityRow>> {
  const eventIds = items.map((item) => item.entry.eventId!).sort();
  const rows = yield* readList<sql.WorkIdentityRow>(sql.currentWorkItems, ids(eventIds));
  const found = new Map(rows.map((row) => [row.EventId, row]));
  const result = new Map<I, sql.WorkIdentityRow>();
  for (const item of items) {
    const row = found.get(item.entry.eventId!);
    if (row !== undefined) result.set(item, row);
  }
  return result;
}

/** MAT-4: everything that two writers of one item must agree on; ids, ordinals and dates differ in every race. */
function sameIdentity(locked: Authority, item: NewItem, row: sql.WorkIdentityRow): boolean {
  const event = item.entry.event!;
  return (
    row.PackId === locked.packId &&
    row.EventId === item.entry.eventId &&
    row.WorkType === 'connector_event' &&
    row.LaneKey === event.laneKey &&
    row.DeliveryLaneKey === event.deliveryLaneKey &&
    row.TargetLaneKey === event.targetLaneKey &&
    row.QueueClass === event.queueClass &&
    row.Route === item.entry.route &&
    row.RouteVersion === event.routeVersion &&
    row.ProjectionKey === event.projectionKey &&
    Buffer.compare(row.IdempotencyKey, item.entry.key) === 0
  );
}

const runAfter = (locked: Authority, item: NewItem): number => item.entry.event!.runAfter ?? locked.nowMs;

function itemRow(locked: Authority, item: NewItem): Param[] {
  const { event, route, projection, end } = item.entry;
  const draft = event!;
  const held = end?.state === 'skipped';
  return [
    draft.workId,
    locked.packId,
    locked.generation,
    item.entry.eventId,
    'connector_event',
    route,
    draft.routeVersion,
    draft.queueClass,
    item.entry.key,
    end?.state ?? 'pending',
    item.readiness,
    runAfter(locked, item),
    draft.failureBudget,
    draft.onDead,
    draft.laneKey,
    item.ordinal,
    draft.deliveryLaneKey,
    draft.ordinal,
    draft.targetLaneKey,
    draft.projectionKey,
    projection?.active && end === null ? draft.projectionKey : null,
    projection?.generation ?? null,
    end?.supersededBy ?? null,
    held ? 'conflict_held' : null,
    held ? 'known key with other bytes: stored apart, not run' : null,
    locked.nowMs,
    end === null ? null : locked.nowMs,
  ];
}
