/**
 * What a provider's API allows, as a pack declares it, and the arithmetic of a rate. Rates follow the generic cell rate
 * algorithm in its virtual scheduling form (ITU-T I.371): one number per scope, the theoretical arrival time of the
 * next start. Times are whole microseconds since the epoch, rounded so that no start comes early.
 */

export interface RateLimit {
  /** Starts in `perMs` milliseconds; ≥ 1. */
  readonly count: number;
  readonly perMs: number;
  /** Starts that may follow each other at once after a pause, ≥ 1. Any span of `perMs` sees less than `count + burst`. */
  readonly burst: number;
}

export interface Limit {
  readonly rate: RateLimit | null;
  /** Items that run at once; ≥ 1. */
  readonly concurrency: number | null;
}

export const LIMIT_SCOPES = ['pack', 'namespace', 'source'] as const;
export type LimitScope = (typeof LIMIT_SCOPES)[number];

/** `pack`: over all namespaces. `namespace`: in each of them. `source`: for each source key in each of them. */
export interface Limits {
  readonly pack: Limit | null;
  readonly namespace: Limit | null;
  readonly source: Limit | null;
}

const MICROS = 1_000;

const intervalOf = ({ count, perMs }: RateLimit): number => (perMs * MICROS) / count;

/**
 * How far the theoretical arrival lies ahead of now; 0 when it has passed. A full burst at most: further only if the clock
 * went back, or the rate was a slower one.
 */
function ahead(rate: RateLimit, arrival: number, nowMs: number): number {
  return Math.min(rate.burst * intervalOf(rate), Math.max(0, arrival - nowMs * MICROS));
}

/** Starts that conform now. @param arrival theoretical arrival time, µs; 0 before the first start */
export function startsLeft(rate: RateLimit, arrival: number, nowMs: number): number {
  const interval = intervalOf(rate);
  return Math.max(0, Math.floor((rate.burst * interval - ahead(rate, arrival, nowMs)) / interval));
}

/** The theoretical arrival time after so many starts at `nowMs`. */
export function arrivalAfter(rate: RateLimit, arrival: number, nowMs: number, starts: number): number {
  return Math.ceil(nowMs * MICROS + ahead(rate, arrival, nowMs) + starts * intervalOf(rate));
}

/** Milliseconds until a start conforms; 0: one does now. */
export function msToNextStart(rate: RateLimit, arrival: number, nowMs: number): number {
  const tolerance = (rate.burst - 1) * intervalOf(rate);
  return Math.ceil(Math.max(0, ahead(rate, arrival, nowMs) - tolerance) / MICROS);
}
