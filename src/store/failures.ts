import { LaneheadError } from '../core/errors.js';

/**
 * What a driver may throw. The three are different things with different retry budgets:
 * contention is over in milliseconds, an outage is not, and everything else is a bug.
 */

/** A unique key refused a row. The statement did nothing; the transaction goes on. Thrown into the plan. */
export class DuplicateKey extends Error {
  constructor(options?: ErrorOptions) {
    super('a unique key refused the row', options);
    this.name = 'DuplicateKey';
  }
}

/** Deadlock, lock timeout, write conflict, changed snapshot: nothing was stored, run the whole plan again. */
export class Contention extends Error {
  constructor(detail: string, options?: ErrorOptions) {
    super(detail, options);
    this.name = 'Contention';
  }
}

/**
 * The database cannot be reached, is full, or failed to write. `outcome: 'none'`: nothing was stored.
 * `outcome: 'unknown'`: the connection was lost at COMMIT; only an identical, idempotent repeat may follow.
 */
export class StoreOutage extends Error {
  readonly outcome: 'none' | 'unknown';
  constructor(detail: string, outcome: 'none' | 'unknown', options?: ErrorOptions) {
    super(detail, options);
    this.name = 'StoreOutage';
    this.outcome = outcome;
  }
}

/**
 * The database refuses this process: its login, a right, its file. An outage while it is served, for rights come
 * back (a password that is being rotated); whoever opens it reports a setting that is wrong.
 */
export class AccessRefused extends StoreOutage {}

/** What opening a database throws, `AccessRefused` as the setting that is wrong. */
export function openingFailure(error: unknown): unknown {
  if (!(error instanceof AccessRefused)) return error;
  return new LaneheadError('invalid_configuration', `DATABASE_URL: ${error.message}`, { cause: error });
}
