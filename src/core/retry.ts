import type { Random } from './random.js';

/** `attempts`: runs in all, ≥ 1, before the item is dead. `baseMs`, `maxMs`: bounds of the delay. */
export interface RetryPolicy {
  readonly attempts: number;
  readonly baseMs: number;
  readonly maxMs: number;
}

export const DEFAULT_RETRY: RetryPolicy = { attempts: 8, baseMs: 1_000, maxMs: 300_000 };

/**
 * Exponential backoff with equal jitter: half of the step is certain, half is drawn, so that a thousand lanes
 * that failed together do not come back together, yet none comes back at once.
 * @param failures failures so far, this one included; ≥ 1.
 */
export function retryDelayMs(policy: RetryPolicy, failures: number, random: Random): number {
  const exponent = Math.min(failures - 1, 52);
  const step = Math.min(policy.maxMs, policy.baseMs * 2 ** exponent);
  return Math.round(step / 2 + (step / 2) * random.float());
}
