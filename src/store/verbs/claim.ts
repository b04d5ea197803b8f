/**
 * A claim, in one transaction:
 *
 *   drain row ─▶ budget ─▶ expired leases ─▶ due heads promoted ─▶ scan ─▶ Events locked ─▶ WorkItems locked
 *                                                                    ▲                            │
 *                                                                    └── cursor past misses ◀─ two-table CAS
 *
 * The scan believes hints. The CAS believes nothing: it evaluates the whole predicate again (OWN-1), on rows whose
 * Events are locked first (EVO-2). An item that fails on either side is a miss and takes nobody with it.
 */
import { INBOUND_WORK_TYPES, QUEUE_CLASSES, type QueueClass, type WorkType } from '../../core/work.js';
import { DuplicateKey } from '../driver.js';
import { type Plan, read } from '../plan.js';
import { lockDrain } from '../statements/authority.js';
import * as sql from '../statements/claim.js';
import type { ClaimedItem, ClaimRequest, ClaimResult, ClaimScope, PeekResult } from '../store.js';
import { ids, readList, writeList } from './batches.js';
import { failWorkItem, leaveLanes, lockRows } from './finalize.js';
import { clearBlocked, promoteDue } from './lanes.js';

/** Scans of one claim; bounds the work when most candidates miss. */
const MAX_ROUNDS = 8;

/** How long an item whose Event somebody else owns is left alone; it would miss at every scan. */
const FOREIGN_REST_MS = 5_000;

interface Claiming {
  readonly request: ClaimRequest;
  readonly workTypes: readonly WorkType[];
  readonly items: ClaimedItem[];
  /** Lanes an item of this claim already runs in: one item per lane. */
  readonly lanes: Set<string>;
  /** Rows of the pack in processing, kept up to date as this transaction adds and ends some. */
  processing: number;
  stale: number;
  expired: number;
  misses: number;
}

/** @param adopt set on a repeat after an unknown COMMIT: what the first try claimed is taken, under a renewed lease. */
export function* claim(request: ClaimRequest, adopt: boolean): Plan<ClaimResult> {
  const claiming = yield* openClaim(request, adopt);
  if (claiming === null) return NOTHING;
  if (request.mode !== 'fresh') yield* reclaim(claiming);
  if (request.mode !== 'stale') {
    const room = request.processingBudget - claiming.processing;
    const wanted = Math.min(request.maxClaims - claiming.items.length, room);
    if (wanted > 0) yield* claimFresh(claiming, wanted);
  }
  return close(claiming);
}

/** Claims the item of one Event under the same predicates and the same budget. */
export function* claimForEvent(request: ClaimRequest, eventId: string, adopt: boolean): Plan<ClaimResult> {
  const claiming = yield* openClaim(request, adopt);
  if (claiming === null) return NOTHING;
  if (claiming.items.length === 0 && claiming.processing < request.processingBudget) {
    const [first, second] = [claiming.workTypes[0]!, claiming.workTypes.at(-1)!];
    const rows = yield* read<sql.CandidateRow>(sql.candidateForEvent, [
      eventId,
      request.packId,
      first,
      second,
      ...threeClasses(request),
    ]);
    yield* attempt(claiming, rows.slice(0, 1));
  }
  return close(claiming);
}

const NOTHING: ClaimResult = { items: [], processing: 0, staleProcessing: 0, expired: 0, misses: 0 };

function* openClaim(request: ClaimRequest, adopt: boolean): Plan<Claiming | null> {
  const workTypes = normalizedTypes(request);
  yield* read(lockDrain, [request.packId]);
  const [drain] = yield* read<sql.DrainRow>(sql.drainState, [request.packId]);
  if (drain === undefined || drain.Status !== 'active') return null;
  const claiming: Claiming = {
    request,
    workTypes,
    items: [],
    lanes: new Set(),
    processing: drain.Processing,
    stale: drain.Stale,
    expired: 0,
    misses: 0,
  };
  if (adopt) yield* adoptClaimed(claiming);
  return claiming;
}

function* adoptClaimed(claiming: Claiming): Plan<void> {
  const { packId, token, leaseMs } = claiming.request;
  for (const workType of claiming.workTypes) {
    const rows = yield* read<sql.ItemRow>(sql.adoptableRows, [packId, workType, token]);
    // The caller counts the lease from this request on.
    const held = rows.map((row) => [row.WorkId, token, row.OwnershipEpoch] as const);
    yield* writeList(sql.renewLeases, held, (padded) => [leaseMs, ...padded]);
    for (const row of rows) take(claiming, { ...row, LeaseUntil: row.Now + leaseMs }, false);
    claiming.processing -= rows.length;
  }
}

function close({ items, processing, stale, expired, misses }: Claiming): ClaimResult {
  return { items, processing, staleProcessing: stale, expired, misses };
}

// ── fresh work ───────────────────────────────────────────────────────────────────────────────────────────

interface Range {
  readonly workType: WorkType;
  readonly queueClass: string;
  cursor: number;
  exhausted: boolean;
}

function* claimFresh(claiming: Claiming, wanted: number): Plan<void> {
  yield* promoteDue(claiming.request.packId, claiming.workTypes);
  const until = claiming.items.length + wanted;
  for (const tier of tiersOf(claiming.request)) {
    const ranges = tier.flatMap((queueClass) =>
      claiming.workTypes.map((workType): Range => ({ workType, queueClass, cursor: -1, exhausted: false })),
    );
    for (let round = 0; round < MAX_ROUNDS && claiming.items.length < until; round++) {
      const candidates = yield* scan(claiming.request.packId, ranges);
      if (candidates.length === 0) break;
      yield* attemptInOrder(claiming, candidates, until);
    }
  }
}

/** Preferred classes first, then the rest (QCL-3, QCL-6); one tier when there is no preference (QCL-7). */
function tiersOf(request: ClaimRequest): string[][] {
  const eligible = eligibleClasses(request);
  const preferred = eligible.filter((name) => request.preference.includes(name));
  const others = eligible.filter((name) => !request.preference.includes(name));
  return [preferred, others].filter((tier) => tier.length > 0);
}

/** The next rows of every range, merged in the order of QCL-4. */
function* scan(packId: number, ranges: readonly Range[]): Plan<sql.CandidateRow[]> {
  const found: sql.CandidateRow[] = [];
  for (const range of ranges) {
    if (range.exhausted) continue;
    const bucket = `ready:${range.queueClass}`;
    const rows = yield* read<sql.CandidateRow>(sql.scanReady, [packId, range.workType, bucket, range.cursor]);
    range.exhausted = rows.length < sql.SCAN_LIMIT;
    if (rows.length > 0) range.cursor = rows[rows.length - 1]!.LaneOrdinal;
    found.push(...rows);
  }
  return found.sort(
    (a, b) =>
      a.LaneOrdinal - b.LaneOrdinal ||
      a.RunAfter - b.RunAfter ||
      a.CreatedDate - b.CreatedDate ||
      (a.WorkId < b.WorkId ? -1 : 1),
  );
}

function* attemptInOrder(
  claiming: Claiming,
  candidates: readonly sql.CandidateRow[],
  until: number,
): Plan<void> {
  for (let at = 0; at < candidates.length && claiming.items.length < until; ) {
    const chosen: sql.CandidateRow[] = [];
    const lanes = new Set(claiming.lanes);
    for (; at < candidates.length && chosen.length < until - claiming.items.length; at++) {
      const mine = lanesOf(candidates[at]!);
      if (mine.some((lane) => lanes.has(lane))) continue;
      for (const lane of mine) lanes.add(lane);
      chosen.push(candidates[at]!);
    }
    yield* attempt(claiming, chosen);
  }
}

const lanesOf = (row: Pick<sql.ItemRow, 'LaneKey' | 'DeliveryLaneKey' | 'TargetLaneKey'>): string[] =>
  [row.LaneKey, row.DeliveryLaneKey, row.TargetLaneKey].filter((lane): lane is string => lane !== null);

// ── the compare-and-swap ─────────────────────────────────────────────────────────────────────────────────

/** Locks Events, then WorkItems, and claims the candidates valid on both sides; false hints are cleared. */
function* attempt(
  claiming: Claiming,
  candidates: readonly { WorkId: string; EventId: string }[],
  reclaimed = false,
): Plan<void> {
  if (candidates.length === 0) return;
  const eventIds = [...new Set(candidates.map((row) => row.EventId))].sort();
  const owners = yield* readList<sql.EventOwnerRow>(sql.lockEventOwners, ids(eventIds));
  const transferable = new Set(owners.filter(isTransferable).map((row) => row.EventId));
  const foreign = new Set(owners.filter(isForeign).map((row) => row.EventId));
  const rows = yield* lockRows(candidates.map((row) => row.WorkId));
  const pending = [...rows.values()].filter((row) => row.State === 'pending');
  // An Event that is not there has no owner either: the item is claimed, and its run says what is missing.
  const valid = pending.filter((row) => !foreign.has(row.EventId));
  const claimed = yield* compareAndSwap(
    claiming,
    valid.map((row) => row.WorkId),
  );
  yield* transfer(claimed.filter((row) => transferable.has(row.EventId)));
  const won = new Map(claimed.map((row) => [row.WorkId, row]));
  for (const { WorkId } of candidates) if (won.has(WorkId)) take(claiming, won.get(WorkId)!, reclaimed);
  claiming.misses += candidates.length - won.size;
  yield* unready(
    valid.filter((row) => !won.has(row.WorkId)),
    pending.filter((row) => foreign.has(row.EventId)),
  );
}

/** A miss leaves the ready range, or it would be scanned for ever and starve what is behind it. */
function* unready(missed: readonly sql.ItemRow[], foreign: readonly sql.ItemRow[]): Plan<void> {
  const missedIds = missed.map((row) => row.WorkId);
  const blocked = yield* clearBlocked(missedIds);
  if (blocked < missedIds.length) yield* writeList(sql.clearEarly, ids(missedIds));
  yield* writeList(sql.restForeign, ids(foreign.map((row) => row.WorkId)), (padded) => [
    FOREIGN_REST_MS,
    ...padded,
  ]);
}

/** EVO-3: an Event-owned fact nobody is working on. A `processing` lease keeps its owner (EVO-4). */
const isTransferable = (row: sql.EventOwnerRow): boolean =>
  row.ExecutionOwner === 'event' && (row.Status === 'pending' || row.Status === 'failed');

/** EVO-6: transferred before; the only pair a retry or a second work type accepts. */
const isFrozen = (row: sql.EventOwnerRow): boolean =>
  row.ExecutionOwner === 'work_item' && row.Status === 'skipped';

const isForeign = (row: sql.EventOwnerRow): boolean => !isTransferable(row) && !isFrozen(row);

function* compareAndSwap(claiming: Claiming, workIds: readonly string[]): Plan<sql.ItemRow[]> {
  const { request, workTypes } = claiming;
  const swap = (list: readonly string[]) =>
    writeList(sql.claimItems, ids(list), (padded) => [
      request.token,
      request.holder,
      request.leaseMs,
      request.generation,
      ...padded,
      request.packId,
      request.generation,
      workTypes[0]!,
      workTypes.at(-1)!,
      ...padded,
    ]);
  try {
    yield* swap(workIds);
  } catch (error) {
    // The lane's unique key: somebody runs in one of these lanes since we looked. One by one, so that only it misses.
    if (!(error instanceof DuplicateKey)) throw error;
    for (const workId of workIds) yield* swapAlone(swap([workId]));
  }
  return yield* readList<sql.ItemRow>(sql.claimedRows, ids(workIds), (padded) => [...padded, request.token]);
}

function* swapAlone(swap: Plan<number>): Plan<void> {
  try {
    yield* swap;
  } catch (error) {
    if (!(error instanceof DuplicateKey)) throw error;
  }
}

function* transfer(claimed: readonly sql.ItemRow[]): Plan<void> {
  if (claimed.length === 0) return;
  const eventIds = [...new Set(claimed.map((row) => row.EventId))].sort();
  const changed = yield* writeList(sql.transferEvents, ids(eventIds));
  if (changed !== eventIds.length) {
    throw new Error(`${changed} of ${eventIds.length} locked Events changed owner: the claim is undone`);
  }
}

function take(claiming: Claiming, row: sql.ItemRow, reclaimed: boolean): void {
  for (const lane of lanesOf(row)) claiming.lanes.add(lane);
  claiming.processing++;
  claiming.items.push({
    lease: {
      workId: row.WorkId,
      token: row.LeaseToken!,
      epoch: row.OwnershipEpoch,
      untilMs: row.LeaseUntil!,
    },
    packId: row.PackId,
    generation: row.Generation,
    eventId: row.EventId,
    workType: row.WorkType as WorkType,
    route: row.Route,
    routeVersion: row.RouteVersion,
    queueClass: row.QueueClass as ClaimedItem['queueClass'],
    laneKey: row.LaneKey,
    laneOrdinal: row.LaneOrdinal,
    attempt: row.Attempt,
    failures: row.Failures,
    failureBudget: row.FailureBudget,
    reclaimed,
  });
}

// ── stale leases ─────────────────────────────────────────────────────────────────────────────────────────

const LEASE_EXPIRED = {
  code: 'lease_expired',
  message: 'the holder stopped renewing its lease while the item ran',
};

/**
 * Takes over expired leases: each is a failure (its run may have killed the process), and what has budget left is
 * claimed again at once, so the number of rows in processing does not rise.
 */
function* reclaim(claiming: Claiming): Plan<void> {
  const { request, workTypes } = claiming;
  const stale: sql.CandidateRow[] = [];
  for (const workType of workTypes) {
    const params = [request.packId, workType, ...threeClasses(request)];
    stale.push(...(yield* read<sql.CandidateRow>(sql.scanStale, params)));
  }
  const chosen = stale.slice(0, request.maxClaims - claiming.items.length);
  if (chosen.length === 0) return;
  // Events before WorkItems, as everywhere: the claim below locks both again.
  yield* readList(sql.lockEventOwners, ids([...new Set(chosen.map((row) => row.EventId))].sort()));
  const rows = yield* lockRows(chosen.map((row) => row.WorkId));
  const again: sql.CandidateRow[] = [];
  const ended: sql.ItemRow[] = [];
  const stopped: sql.ItemRow[] = [];
  for (const candidate of chosen) {
    const row = rows.get(candidate.WorkId);
    if (row === undefined || row.State !== 'processing' || row.LeaseUntil! >= row.Now) continue;
    // Adopted above, in a transaction that takes longer than a lease: its holder is the caller.
    if (row.LeaseToken === request.token) continue;
    const state = yield* failWorkItem(row, LEASE_EXPIRED, 0);
    (state === 'dead' ? ended : stopped).push(row);
    if (state === 'pending') again.push(candidate);
    else claiming.expired++;
    claiming.processing--;
    claiming.stale--;
  }
  yield* leaveLanes(ended, stopped);
  yield* attempt(claiming, again, true);
}

// ── scope and peek ───────────────────────────────────────────────────────────────────────────────────────

/** SVC-3: an empty scope means both inbound types, never all; an unknown type is an error. */
export function normalizedTypes(scope: Pick<ClaimScope, 'claimWorkTypes'>): readonly WorkType[] {
  for (const workType of scope.claimWorkTypes) {
    if (!INBOUND_WORK_TYPES.includes(workType))
      throw new RangeError(`unknown work type ${JSON.stringify(workType)}`);
  }
  if (scope.claimWorkTypes.length === 0) return INBOUND_WORK_TYPES;
  return INBOUND_WORK_TYPES.filter((workType) => scope.claimWorkTypes.includes(workType));
}

/** QCL-1: an empty filter lets every class through. */
const eligibleClasses = ({ queueClasses }: Pick<ClaimScope, 'queueClasses'>): readonly QueueClass[] =>
  queueClasses.length > 0 ? queueClasses : QUEUE_CLASSES;

/** The same for a statement, which takes three. */
function threeClasses(scope: Pick<ClaimScope, 'queueClasses'>): readonly QueueClass[] {
  const eligible = eligibleClasses(scope);
  return QUEUE_CLASSES.map((_, place) => eligible[Math.min(place, eligible.length - 1)]!);
}

interface PeekRow {
  readonly Now: number;
  readonly DueAt: number | null;
  readonly LeaseEnd: number | null;
  readonly Interactive: number | null;
  readonly Standard: number | null;
  readonly Bulk: number | null;
}

export function* peek(scope: ClaimScope): Plan<PeekResult> {
  let ready = false;
  let nextInMs: number | null = null;
  const classes = eligibleClasses(scope);
  for (const workType of normalizedTypes(scope)) {
    const pair = [scope.packId, workType];
    const [row] = yield* read<PeekRow>(sql.peekBuckets, [...pair, ...pair, ...pair, ...pair, ...pair]);
    if (row === undefined) continue;
    const heads = { interactive: row.Interactive, default: row.Standard, bulk: row.Bulk };
    const waits = [row.DueAt, row.LeaseEnd === null ? null : row.LeaseEnd + 1].filter((at) => at !== null);
    ready ||= classes.some((name) => heads[name] !== null) || waits.some((at) => at <= row.Now);
    for (const at of waits) {
      const inMs = Math.max(0, at - row.Now);
      nextInMs = nextInMs === null ? inMs : Math.min(nextInMs, inMs);
    }
  }
  return { ready, nextInMs };
}
