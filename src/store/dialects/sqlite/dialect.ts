import type { Dialect } from '../../statement.js';

/** One writer makes every read inside BEGIN IMMEDIATE current, so nothing needs locking; time is the injected clock. */
export const sqliteDialect: Dialect = { name: 'sqlite', now: 'lanehead_now()', forUpdate: '' };
