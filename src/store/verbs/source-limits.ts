/**
 * Limits that a pack declares for each source. What is over its source's limit leaves the ready range, so that no scan
 * meets it again and again: it holds neither executors nor the candidate limit.
 *
 *              over the limit of its source
 *     ready ────────────────────────────────▶ limited: delayed in the queue, and listed by source and ordinal
 *       ▲                                        │
 *       └──── the source may start another ──────┘   at the next claim; or after ten minutes, whatever happened
 */

import { digestParts } from '../../core/identity.js';
import { arrivalAfter, type Limit, msToNextStart, startsLeft } from '../../core/limits.js';
import type { QueueClass } from '../../core/work.js';
import { type Plan, read, write } from '../plan.js';
import type { CandidateRow } from '../statements/claim.js';
import * as sql from '../statements/limits.js';
import { ids, insertList, readList, writeList } from './batches.js';

/** One source with what is used of its limit. */
interface Source {
  readonly key: string;
  readonly arrival: number;
  /** As stored; `undefined`: not at all. */
  readonly due: number | null | undefined;
  /** Items are listed for it. */
  waiting: boolean;
  /** Starts that its rate allows, and places that its concurrency leaves. */
  starts: number;
  places: number;
  started: number;
  freed: number;
}

export interface SourceLimits {
  readonly packId: number;
  readonly limit: Limit;
  readonly now: number;
  readonly running: ReadonlyMap<string, number>;
  readonly byKey: Map<string, Source>;
  readonly keyOfEvent: Map<string, string>;
  /** What this claim found over its limit. */
  readonly over: sql.LimitedRow[];
}

const KEY_CHARACTERS = 32;
/** What was freed and not started is left a while before more is freed: whoever may run it is busy. */
const FREED_REST_MS = 1_000;
/** Nobody frees what is listed if the pack declares no limit any more; then it comes back by itself. */
const REST_MS = 600_000;

function keyOf(packId: number, sourceKey: string): string {
  const digest = digestParts(['limit', sourceKey]).toString('base64url');
  return `s:${packId}:${digest.slice(0, KEY_CHARACTERS)}`;
}

export function* openSources(packId: number, limit: Limit, now: number): Plan<SourceLimits> {
  const running = new Map<string, number>();
  if (limit.concurrency !== null) {
    const rows = yield* read<sql.RunningSourceRow>(sql.runningBySource, [packId]);
    for (const row of rows) running.set(keyOf(packId, row.SourceKey), row.Running);
  }
  return { packId, limit, now, running, byKey: new Map(), keyOfEvent: new Map(), over: [] };
}

function know(sources: SourceLimits, key: string, row: sql.LimitRow | undefined): Source {
  const { limit, now, running, byKey } = sources;
  const arrival = row?.Arrival ?? 0;
  const source: Source = {
    key,
    arrival,
    due: row?.DueDate,
    waiting: row !== undefined && row.DueDate !== null,
    starts: limit.rate === null ? Number.POSITIVE_INFINITY : startsLeft(limit.rate, arrival, now),
    places: (limit.concurrency ?? Number.POSITIVE_INFINITY) - (running.get(key) ?? 0),
    started: 0,
    freed: 0,
  };
  byKey.set(key, source);
  return source;
}

/** Gives listed items of these classes their turn, oldest first, as many as their sources may start; so many in all. */
export function* freeWaiting(
  sources: SourceLimits,
  most: number,
  classes: readonly QueueClass[],
): Plan<void> {
  let [due, key, left] = [-1, '', most];
  for (;;) {
    const page = yield* read<sql.LimitRow>(sql.dueLimits, [sources.packId, due, due, key, ...classes]);
    for (const row of page) {
      // A takeover of this claim may have used some of it already.
      const source = sources.byKey.get(row.LimitKey) ?? know(sources, row.LimitKey, row);
      const room = Math.min(source.starts, source.places, left);
      if (room > 0) left -= yield* free(source, room, classes);
    }
    if (page.length < sql.DUE_PAGE || left === 0) return;
    [due, key] = [page[page.length - 1]!.DueDate!, page[page.length - 1]!.LimitKey];
  }
}

function* free(source: Source, room: number, classes: readonly QueueClass[]): Plan<number> {
  const listed = yield* read<sql.LimitedRow>(sql.firstLimited, [...classes, source.key]);
  const chosen = listed.slice(0, room);
  // Fewer where an item has ended otherwise meanwhile.
  source.freed = yield* writeList(sql.freeLimited, ids(chosen.map((row) => row.WorkId).sort()));
  yield* writeList(sql.deleteLimited, chosen.map(asMember));
  source.waiting = (yield* read(sql.anyLimited, [source.key])).length > 0;
  return source.freed;
}

const asMember = (row: sql.LimitedRow) => [row.LimitKey, row.LaneOrdinal, row.WorkId] as const;

/**
 * Those that their sources may start, in the given order.
 * @param takeover false: what is over is noted, to be listed in the end
 */
export function* withinLimits<Row extends CandidateRow>(
  sources: SourceLimits,
  candidates: readonly Row[],
  takeover = false,
): Plan<Row[]> {
  yield* learn(sources, candidates);
  return candidates.filter((row) => {
    const { LaneOrdinal, WorkId } = row;
    const source = sourceOf(sources, row.EventId);
    if (source === undefined) return true;
    if (source.starts <= 0 || source.places <= 0) {
      if (!takeover) sources.over.push({ LimitKey: source.key, LaneOrdinal, WorkId });
      return false;
    }
    source.starts--;
    source.places--;
    return true;
  });
}

/** An Event that is gone has no source; its item runs, and its run says what is missing. */
function sourceOf({ byKey, keyOfEvent }: SourceLimits, eventId: string): Source | undefined {
  const key = keyOfEvent.get(eventId);
  return key === undefined ? undefined : byKey.get(key);
}

function* learn(sources: SourceLimits, candidates: readonly CandidateRow[]): Plan<void> {
  const { packId, byKey, keyOfEvent } = sources;
  const events = candidates.map((row) => row.EventId).filter((eventId) => !keyOfEvent.has(eventId));
  for (const row of yield* readList<sql.SourceRow>(sql.sourcesOf, ids([...new Set(events)])))
    keyOfEvent.set(row.EventId, keyOf(packId, row.SourceKey));
  const keys = [...new Set(keyOfEvent.values())].filter((key) => !byKey.has(key));
  const rows = yield* readList<sql.LimitRow>(sql.limitRows, ids(keys));
  const known = new Map(rows.map((row) => [row.LimitKey, row]));
  for (const key of keys) know(sources, key, known.get(key));
}

/** Writes down what the claim started, and lists what is over its limit. */
export function* settleSources(
  sources: SourceLimits,
  startedEvents: readonly string[],
  startedAt: number,
): Plan<void> {
  for (const eventId of startedEvents) {
    const source = sourceOf(sources, eventId);
    if (source !== undefined) source.started++;
  }
  yield* list(sources);
  for (const source of sources.byKey.values()) yield* store(sources, source, startedAt);
  yield* forgetSpent(sources);
}

function* list({ over, byKey }: SourceLimits): Plan<void> {
  if (over.length === 0) return;
  yield* writeList(sql.restLimited, ids(over.map((row) => row.WorkId).sort()), (padded) => [
    REST_MS,
    ...padded,
  ]);
  const rows = over.map(asMember);
  // One that came back by itself may still be listed.
  yield* writeList(sql.deleteLimited, rows);
  yield* insertList(sql.insertLimited, rows);
  for (const { LimitKey } of over) byKey.get(LimitKey)!.waiting = true;
}

function* store({ packId, limit }: SourceLimits, source: Source, now: number): Plan<void> {
  const { key, started } = source;
  const { rate } = limit;
  const arrival =
    rate === null || started === 0 ? source.arrival : arrivalAfter(rate, source.arrival, now, started);
  const due = dueDate(source, now, rate === null ? 0 : msToNextStart(rate, arrival, now));
  if (arrival === source.arrival && due === (source.due ?? null)) return;
  if (source.due !== undefined) yield* write(sql.updateLimit, [arrival, due, key]);
  else yield* write(sql.insertLimit, [key, packId, arrival, due]);
}

/** When to look after the source's listed items again. One that is due already keeps its place in that order. */
function dueDate({ waiting, freed, started, due }: Source, now: number, restMs: number): number | null {
  if (!waiting) return null;
  if (freed > 0 && started === 0) return now + FREED_REST_MS;
  return restMs === 0 && typeof due === 'number' && due <= now ? due : now + restMs;
}

const MICROS = 1_000;

function* forgetSpent({ packId, now }: SourceLimits): Plan<void> {
  const spent = yield* read<Pick<sql.LimitRow, 'LimitKey'>>(sql.spentLimits, [packId, now * MICROS]);
  yield* writeList(sql.deleteLimits, ids(spent.map((row) => row.LimitKey)));
}
