/**
 * Limits that a pack declares for all its flows: over its namespaces, and in each of them. They bound how much a claim may
 * ask for. Claimers of one namespace are serialized by its drain row, those of several by the row of the pack's limit.
 */
import { arrivalAfter, type Limit, type LimitScope, msToNextStart, startsLeft } from '../../core/limits.js';
import { DuplicateKey } from '../driver.js';
import { type Plan, read, write } from '../plan.js';
import * as sql from '../statements/limits.js';
import type { ClaimLimits, ClaimRequest } from '../store.js';

/** One limit with what is used of it. */
interface Shared {
  readonly scope: LimitScope;
  readonly key: string;
  readonly packId: number;
  readonly limit: Limit;
  readonly arrival: number;
  readonly isStored: boolean;
  /** Rows that run under it, before this claim starts any. */
  readonly running: number;
}

export interface SharedLimits {
  readonly now: number;
  readonly all: readonly Shared[];
}

const packKey = (packName: string): string => `p:${packName}`;
const namespaceKey = (packId: number): string => `n:${packId}`;

/** Before the first plain read of the claim: what that one sees is then no older than the lock. */
export function* lockPackLimit({ limits }: ClaimRequest): Plan<void> {
  if (!limits?.pack) return;
  const key = packKey(limits.packName);
  const [known] = yield* read<sql.LimitRow>(sql.lockLimit, [key]);
  if (known !== undefined) return;
  try {
    yield* write(sql.insertLimit, [key, OF_NO_NAMESPACE, 0, null]);
  } catch (error) {
    if (!(error instanceof DuplicateKey)) throw error;
    yield* read(sql.lockLimit, [key]);
  }
}

const OF_NO_NAMESPACE = 0;

/** @param live rows of this pack and namespace that run */
export function* openShared({ packId, limits }: ClaimRequest, now: number, live: number): Plan<SharedLimits> {
  const all: Shared[] = [];
  if (limits?.pack) all.push(yield* openPack(limits, limits.pack));
  if (limits?.namespace) {
    const { namespace: limit } = limits;
    const row = yield* stored(namespaceKey(packId));
    all.push({ scope: 'namespace', ...row, packId, limit, running: live });
  }
  return { now, all };
}

function* openPack({ packName }: ClaimLimits, limit: Limit): Plan<Shared> {
  const row = yield* stored(packKey(packName));
  const [count] =
    limit.concurrency === null ? [] : yield* read<{ Running: number }>(sql.runningOfPack, [packName]);
  return { scope: 'pack', ...row, packId: OF_NO_NAMESPACE, limit, running: count?.Running ?? 0 };
}

function* stored(key: string): Plan<Pick<Shared, 'key' | 'arrival' | 'isStored'>> {
  const [row] = yield* read<sql.LimitRow>(sql.limitRows, [key]);
  return { key, arrival: row?.Arrival ?? 0, isStored: row !== undefined };
}

/** Starts that all limits together still allow. @param starts made by this claim so far */
export function startsAllowed({ all, now }: SharedLimits, starts: number): number {
  const left = all.map((shared) => leftOf(shared, starts, now));
  return Math.max(0, Math.min(Number.POSITIVE_INFINITY, ...left));
}

/** The limits that allow fewer than `wanted` more. */
export function shortOf({ all, now }: SharedLimits, starts: number, wanted: number): LimitScope[] {
  return all.filter((shared) => leftOf(shared, starts, now) < wanted).map(({ scope }) => scope);
}

function leftOf({ limit, arrival, running }: Shared, starts: number, now: number): number {
  const { rate, concurrency } = limit;
  const places = (concurrency ?? Number.POSITIVE_INFINITY) - running - starts;
  return rate === null ? places : Math.min(places, startsLeft(rate, arrival, now) - starts);
}

/** Writes down what the claim used. @returns milliseconds until every rate allows a start; `null`: they do now */
export function* settleShared({ all }: SharedLimits, starts: number, startedAt: number): Plan<number | null> {
  let waitMs = 0;
  for (const { key, packId, limit, arrival, isStored } of all) {
    if (limit.rate === null) continue;
    const next = starts === 0 ? arrival : arrivalAfter(limit.rate, arrival, startedAt, starts);
    waitMs = Math.max(waitMs, msToNextStart(limit.rate, next, startedAt));
    if (starts === 0) continue;
    if (isStored) yield* write(sql.updateLimit, [next, null, key]);
    else yield* write(sql.insertLimit, [key, packId, next, null]);
  }
  return waitMs === 0 ? null : waitMs;
}
