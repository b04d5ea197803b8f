import type { Clock } from '../../../core/clock.js';
import type { Random } from '../../../core/random.js';
import { createSqlStore } from '../../sql-store.js';
import type { Store } from '../../store.js';
import { openSqliteDriver, type SqliteDriverOptions } from './driver.js';

export interface SqliteStoreOptions extends SqliteDriverOptions {
  readonly clock: Clock;
  readonly random: Random;
}

/** The Store in this thread: for tests, the command line and the inside of the store thread. */
export function openSqliteStore(options: SqliteStoreOptions): Store {
  return createSqlStore({ driver: openSqliteDriver(options), clock: options.clock, random: options.random });
}
