/**
 * A claim, in one transaction:
 *
 *   drain row ─▶ budget, limits ─▶ expired leases ─▶ due heads promoted ─▶ scan ─▶ Events locked ─▶ WorkItems locked
 *                                                                           ▲                             │
 *                                          limits written down ◀─ done ─────┴── cursor past misses ◀─ two-table CAS
 *
 * The scan believes hints. The CAS believes nothing: it evaluates the whole predicate again (OWN-1), on rows whose
 * Events are locked first (EVO-2). An item that fails on either side is a miss and takes nobody with it.
 */
import type { LimitScope } from '../../core/limits.js';
import type { WorkType } from '../../core/work.js';
import { type Plan, read } from '../plan.js';
import { lockDrain } from '../statements/authority.js';
import * as sql from '../statements/claim.js';
import type { ClaimRequest, ClaimResult } from '../store.js';
import { writeList } from './batches.js';
import { eligibleClasses, normalizedTypes, threeClasses } from './claim-scope.js';
import { attempt, type Claiming, lanesOf, restUnrunnable, startsOf, take } from './claim-swap.js';
import { promoteDue } from './lanes.js';
import { reclaim } from './reclaim.js';
import { lockPackLimit, openShared, settleShared, shortOf, startsAllowed } from './shared-limits.js';
import { freeWaiting, openSources, settleSources, withinLimits } from './source-limits.js';
import { noteEnded } from './tally.js';

/** Scans of one claim; bounds the work when most candidates miss. */
const MAX_ROUNDS = 8;

/** @param adopt set on a repeat after an unknown COMMIT: what the first try claimed is taken, under a renewed lease. */
export function* claim(request: ClaimRequest, adopt: boolean): Plan<ClaimResult> {
  const claiming = yield* openClaim(request, adopt);
  if (claiming === null) return NOTHING;
  if (!claiming.isActive) return yield* close(claiming);
  if (request.mode !== 'fresh') yield* reclaim(claiming);
  if (request.mode !== 'stale') {
    const wanted = Math.min(request.maxClaims - claiming.items.length, roomFor(claiming));
    if (wanted > 0) yield* claimFresh(claiming, wanted);
  }
  return yield* close(claiming);
}

/** Claims the item of one Event under the same predicates and the same budget. */
export function* claimForEvent(request: ClaimRequest, eventId: string, adopt: boolean): Plan<ClaimResult> {
  const claiming = yield* openClaim(request, adopt);
  if (claiming === null) return NOTHING;
  if (claiming.isActive && claiming.items.length === 0 && roomFor(claiming) > 0) {
    const [first, second] = [claiming.workTypes[0]!, claiming.workTypes.at(-1)!];
    const rows = yield* read<sql.CandidateRow>(sql.candidateForEvent, [
      eventId,
      request.packId,
      first,
      second,
      ...threeClasses(request),
    ]);
    yield* attempt(claiming, yield* mayStart(claiming, rows.slice(0, 1)));
  }
  return yield* close(claiming);
}

/** Rows that fresh work may still add: by the processing budget, and by what the pack declares. */
function roomFor(claiming: Claiming): number {
  const { request, processing, shared } = claiming;
  return Math.min(request.processingBudget - processing, startsAllowed(shared, startsOf(claiming)));
}

const NOTHING: ClaimResult = {
  items: [],
  processing: 0,
  staleProcessing: 0,
  expired: 0,
  misses: 0,
  limitedForMs: null,
  limitedBy: [],
};

function* openClaim(request: ClaimRequest, adopt: boolean): Plan<Claiming | null> {
  const workTypes = normalizedTypes(request);
  const { packId, limits } = request;
  yield* read(lockDrain, [packId]);
  yield* lockPackLimit(request);
  const [drain] = yield* read<sql.DrainRow>(sql.drainState, [packId]);
  if (drain === undefined) return null;
  const isActive = drain.Status === 'active';
  // What an unanswered try had claimed before a pause is its caller's all the same: nobody else would give it back.
  if (!isActive && !adopt) return null;
  // First of all: what they were counted as before depends on how long the first try took.
  const adopted = adopt ? yield* renewClaimed(request, workTypes) : [];
  const late = adopted.filter((row) => row.LeaseUntil! < drain.Now).length;
  const [processing, stale] = [drain.Processing, drain.Stale - late];
  const claiming: Claiming = {
    request,
    workTypes,
    items: [],
    isActive,
    lanes: new Set(),
    // Each of the adopted is counted as it is taken.
    processing: processing - adopted.length,
    stale,
    isDue: drain.Due !== 0,
    expired: 0,
    misses: 0,
    endings: [],
    shared: yield* openShared(request, drain.Now, processing - stale),
    sources: limits?.source ? yield* openSources(packId, limits.source, drain.Now) : null,
    adopted: adopted.length,
  };
  for (const row of adopted) take(claiming, { ...row, LeaseUntil: row.Now + request.leaseMs }, false);
  return claiming;
}

/** What an unanswered try has claimed, under a lease that its caller counts from this request on. */
function* renewClaimed(
  { packId, token, leaseMs }: ClaimRequest,
  workTypes: readonly WorkType[],
): Plan<sql.ItemRow[]> {
  const rows: sql.ItemRow[] = [];
  for (const workType of workTypes)
    rows.push(...(yield* read<sql.ItemRow>(sql.adoptableRows, [packId, workType, token])));
  const held = rows.map((row) => [row.WorkId, token, row.OwnershipEpoch] as const);
  yield* writeList(sql.renewLeases, held, (padded) => [leaseMs, ...padded]);
  return rows;
}

function* close(claiming: Claiming): Plan<ClaimResult> {
  const { request, items, processing, stale, expired, misses, shared, sources, adopted } = claiming;
  const limitedBy = limitsMet(claiming);
  const started = items.slice(adopted);
  // By their own statements, not by the beginning of a transaction that may take long: the next start counts from there.
  const startedAt = Math.max(shared.now, ...started.map(({ lease }) => lease.untilMs - request.leaseMs));
  const limitedForMs = yield* settleShared(shared, started.length, startedAt);
  if (sources !== null)
    yield* settleSources(
      sources,
      started.map((item) => item.eventId),
      startedAt,
    );
  yield* noteEnded(claiming.endings);
  return { items, processing, staleProcessing: stale, expired, misses, limitedForMs, limitedBy };
}

/** Which of them kept the claim from what slots and processing budget would have let it have. */
function limitsMet(claiming: Claiming): LimitScope[] {
  const { request, items, processing, shared, sources, isActive } = claiming;
  if (!isActive || request.mode === 'stale') return [];
  const wanted = Math.min(request.maxClaims - items.length, request.processingBudget - processing, 1);
  const met = wanted <= 0 ? [] : shortOf(shared, startsOf(claiming), wanted);
  return sources !== null && sources.over.length > 0 ? [...met, 'source'] : met;
}

/** Fresh candidates that the limits of their sources let start now. */
function* mayStart(
  { sources }: Claiming,
  candidates: readonly sql.CandidateRow[],
): Plan<readonly sql.CandidateRow[]> {
  return sources === null ? candidates : yield* withinLimits(sources, candidates);
}

// ── fresh work ───────────────────────────────────────────────────────────────────────────────────────────

interface Range {
  readonly workType: WorkType;
  readonly queueClass: string;
  cursor: number;
  exhausted: boolean;
}

function* claimFresh(claiming: Claiming, wanted: number): Plan<void> {
  if (claiming.isDue) yield* promoteDue(claiming.request.packId, claiming.workTypes);
  // What may start and cannot be claimed here is as good as free: twice as many, and a scan finds enough.
  if (claiming.sources !== null)
    yield* freeWaiting(claiming.sources, 2 * wanted, threeClasses(claiming.request));
  const until = claiming.items.length + wanted;
  for (const tier of tiersOf(claiming.request)) {
    const ranges = tier.flatMap((queueClass) =>
      claiming.workTypes.map((workType): Range => ({ workType, queueClass, cursor: -1, exhausted: false })),
    );
    for (let round = 0; round < MAX_ROUNDS && claiming.items.length < until; round++) {
      const candidates = yield* scan(claiming.request.packId, ranges);
      if (candidates.length === 0) break;
      const runnable = yield* restUnrunnable(claiming, candidates);
      yield* attemptInOrder(claiming, yield* mayStart(claiming, runnable), until);
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
