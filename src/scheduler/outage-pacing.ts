import type { Random } from '../core/random.js';
import { type RetryPolicy, retryDelayMs } from '../core/retry.js';

const OUTAGE: RetryPolicy = { attempts: Number.POSITIVE_INFINITY, baseMs: 100, maxMs: 10_000 };

/** How long a scheduler leaves a failing store alone: longer each time, jittered, so that a fleet does not come back as one. */
export class OutagePacing {
  readonly #random: Random;
  #failures = 0;
  #restMs = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  /** The store is failing: wakes do not cut the rest short. */
  get failing(): boolean {
    return this.#failures > 0;
  }

  /** The rest that the last failure causes, in milliseconds; 0 without one. */
  get restMs(): number {
    return this.failing ? this.#restMs : 0;
  }

  failed(): void {
    this.#failures++;
    this.#restMs = retryDelayMs(OUTAGE, this.#failures, this.#random);
  }

  answered(): void {
    this.#failures = 0;
  }
}
