import type { Clock } from '../core/clock.js';
import type { Random } from '../core/random.js';
import { Contention, DuplicateKey, StoreOutage } from './driver.js';

export interface RetryBudget {
  /** Tries in all. */
  readonly attempts: number;
  readonly baseMs: number;
  readonly maxMs: number;
}

/** Contention is over in milliseconds: many short tries with jitter. */
export const CONTENTION_BUDGET: RetryBudget = { attempts: 30, baseMs: 2, maxMs: 200 };

/** A COMMIT without an answer: the verbs recognize their own work, so a repeat finds out. */
const UNKNOWN_ATTEMPTS = 3;

/**
 * Runs one transaction until it is not in contention, within a budget; what is left of the contention then is an
 * outage to the caller. `attempt` is told its number, from 1. Other outages and bugs leave at once.
 */
export async function retrying<T>(
  clock: Clock,
  random: Random,
  attempt: (number: number) => Promise<T>,
  budget: RetryBudget = CONTENTION_BUDGET,
): Promise<T> {
  let unknown = false;
  for (let number = 1; ; number++) {
    try {
      return await attempt(number);
    } catch (error) {
      unknown ||= error instanceof StoreOutage && error.outcome === 'unknown';
      if (error instanceof StoreOutage && unknown && number < UNKNOWN_ATTEMPTS) {
        await clock.sleep(budget.maxMs * (0.5 + random.float() / 2));
        continue;
      }
      if (error instanceof StoreOutage && unknown && error.outcome === 'none') {
        throw new StoreOutage(error.message, 'unknown', { cause: error });
      }
      // A unique key that refused a row and was not expected there: somebody came first. Look again from the start.
      if (!(error instanceof Contention || error instanceof DuplicateKey)) throw error;
      if (number >= budget.attempts) {
        const outcome = unknown ? 'unknown' : 'none';
        throw new StoreOutage(`contention outlasted ${number} tries: ${error.message}`, outcome, {
          cause: error,
        });
      }
      const step = Math.min(budget.maxMs, budget.baseMs * 2 ** Math.min(number - 1, 20));
      await clock.sleep(step * (0.5 + random.float() / 2));
    }
  }
}
