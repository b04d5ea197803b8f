import type { Random } from '../core/random.js';
import { type RetryPolicy, retryDelayMs } from '../core/retry.js';

/** How often an idle scheduler looks. `minMs`: after work was found; doubles with every empty look up to `maxMs`. */
export interface PollLimits {
  readonly minMs: number;
  readonly maxMs: number;
}

/** One statement or two a look: at the ceiling an idle pack costs no more than two statements a second. */
export const DEFAULT_POLL: PollLimits = { minMs: 25, maxMs: 1_000 };

const OUTAGE: RetryPolicy = { attempts: Number.POSITIVE_INFINITY, baseMs: 100, maxMs: 10_000 };
const MAX_DOUBLINGS = 20;

/** How long a scheduler rests, from what its last looks brought. Reads no clock. */
export class ScanPacing {
  readonly #limits: PollLimits;
  readonly #random: Random;
  #emptyLooks = 0;
  #hurriedLooks = 0;
  #hurried = false;
  #nextInMs: number | null = null;
  #failures = 0;
  #outageMs = 0;

  constructor(limits: PollLimits, random: Random) {
    this.#limits = limits;
    this.#random = random;
  }

  /** The store is failing: wakes do not cut the rest short. */
  get failing(): boolean {
    return this.#failures > 0;
  }

  found(): void {
    this.#emptyLooks = 0;
    this.#hurriedLooks = 0;
    this.#nextInMs = null;
  }

  /** `nextInMs`: when the next item is due or the next lease ends; `null`: nothing waits for time. */
  foundNothing(nextInMs: number | null): void {
    this.#hurriedLooks = this.#hurried ? this.#hurriedLooks + 1 : 0;
    this.#emptyLooks++;
    this.#nextInMs = nextInMs;
  }

  /** Jittered and capped, so that a fleet does not come back as one. Returns the rest it causes. */
  failed(): number {
    this.#failures++;
    this.#outageMs = retryDelayMs(OUTAGE, this.#failures, this.#random);
    return this.#outageMs;
  }

  answered(): void {
    this.#failures = 0;
  }

  /**
   * The rest before the next look. Never past the moment something is due; but a due time that keeps bringing
   * nothing (rounding, a skewed clock, a full budget) is trusted less each time, so that it cannot spin.
   */
  restMs(): number {
    if (this.failing) return this.#outageMs;
    const { minMs, maxMs } = this.#limits;
    const backoffMs = Math.min(maxMs, minMs * 2 ** Math.min(this.#emptyLooks, MAX_DOUBLINGS));
    this.#hurried = this.#nextInMs !== null && this.#nextInMs < backoffMs;
    if (this.#nextInMs === null) return backoffMs;
    const floorMs = 2 ** Math.min(this.#hurriedLooks, MAX_DOUBLINGS);
    return Math.min(backoffMs, Math.max(this.#nextInMs, floorMs));
  }
}
