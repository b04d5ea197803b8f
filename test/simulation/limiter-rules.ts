/** What the claim limiter of a process decides, beside what its probes had said by then (PRS-2). */
import type { ClaimDecision, PressureLimits } from '../../src/scheduler/claim-limiter.js';
import type { StorePressure } from '../../src/store/store.js';
import type { Breach } from './row-audit.js';

/** A probe that takes longer has no answer. */
const PATIENCE_MS = 1_000;
/** Clocks that are fractions do not add up exactly. */
const ROUNDING_MS = 0.001;
/** However hard the store is pressed, something is let through after that. */
const MOST_DENIED_MS = 10_000;

/** The answers to the probes of one process. */
export class ProbeRecord {
  #reading: StorePressure | null = { poolWaitMs: null, statementMs: 0, inboxDepth: null, walBytes: null };
  #askedAt: number | null = null;

  asked(now: number): void {
    this.#askedAt = now;
  }

  /** @param reading `null`: it failed */
  answered(reading: StorePressure | null): void {
    this.#reading = reading;
    this.#askedAt = null;
  }

  /** What is known now; `null`: nothing. */
  readingAt(now: number): StorePressure | null {
    return this.#askedAt !== null && now - this.#askedAt >= PATIENCE_MS ? null : this.#reading;
  }
}

/** Of one scheduler. */
export class LimiterRules {
  readonly #limits: PressureLimits;
  readonly #probes: ProbeRecord;
  #deniedSince: number | null = null;
  #restsUntil = Number.NEGATIVE_INFINITY;

  constructor(limits: PressureLimits, probes: ProbeRecord) {
    this.#limits = limits;
    this.#probes = probes;
  }

  /** Until when its scheduler rests by its decision, and for want of a permission. */
  get restsUntil(): number {
    return this.#restsUntil;
  }

  *decided(decision: ClaimDecision, asked: number, now: number): Generator<Breach> {
    const { kind, maxClaims, restMs } = decision;
    if (now < this.#restsUntil - ROUNDING_MS)
      yield ['limiter', `decides again ${this.#restsUntil - now} ms too early`];
    this.#restsUntil = now + restMs;
    if (kind !== 'granted' && restMs <= 0) yield ['limiter', `${kind}, and no rest`];
    if (kind === 'denied' ? maxClaims !== 0 : maxClaims < 1) yield ['limiter', `${kind} for ${maxClaims}`];
    const expected = this.#expected(kind, now);
    if (kind === 'denied' && this.#deniedFor(now) > MOST_DENIED_MS + ROUNDING_MS)
      yield ['limiter', `denied for ${this.#deniedFor(now)} ms without a break`];
    const isLetThrough = this.#deniedFor(now) > MOST_DENIED_MS - ROUNDING_MS;
    const isMeant =
      kind === expected || (kind === 'reduced' && maxClaims === 1 && expected === 'denied' && isLetThrough);
    if (!isMeant) yield ['limiter', `${kind} for ${maxClaims} of ${asked}, expected ${expected}`];
    if (kind === 'granted' && maxClaims !== asked) yield ['limiter', `granted ${maxClaims} of ${asked}`];
    if (expected === 'reduced' && maxClaims >= asked && asked > 1) yield ['limiter', `${asked} is no fewer`];
    if (expected !== 'denied') this.#deniedSince = null;
    else if (this.#deniedSince === null || kind !== 'denied') this.#deniedSince = now;
  }

  #deniedFor(now: number): number {
    return this.#deniedSince === null ? 0 : now - this.#deniedSince;
  }

  /** In the very moment in which a probe's time is over, with or without its answer. */
  #expected(kind: ClaimDecision['kind'], now: number): ClaimDecision['kind'] {
    const [before, after] = [this.#expectedAt(now - ROUNDING_MS), this.#expectedAt(now + ROUNDING_MS)];
    return kind === after ? after : before;
  }

  #expectedAt(now: number): ClaimDecision['kind'] {
    const reading = this.#probes.readingAt(now);
    if (reading === null) return 'stale_only';
    const probes = Object.keys(this.#limits) as (keyof StorePressure)[];
    const over = (bound: 'soft' | 'hard', is: (value: number, limit: number) => boolean): boolean =>
      probes.some((probe) => is(reading[probe] ?? 0, this.#limits[probe][bound]));
    if (over('hard', (value, limit) => value >= limit)) return 'denied';
    return over('soft', (value, limit) => value > limit) ? 'reduced' : 'granted';
  }
}
