import type { Plan } from './plan.js';
import type { Dialect } from './statement.js';

export { AccessRefused, Contention, DuplicateKey, StoreOutage } from './failures.js';

/** One connection pool (or one file) of one engine. It runs plans; it knows no verb. */
export interface Driver {
  readonly dialect: Dialect;
  /** One attempt at one transaction. Rolls back on every error; on `Contention` the caller runs `plan` anew. */
  transaction<T>(plan: () => Plan<T>): Promise<T>;
  /** Statements outside a transaction, each committed by itself; for single reads. */
  query<T>(plan: () => Plan<T>): Promise<T>;
  /** Text without parameters, for migrations; each statement by itself. */
  script(statements: readonly string[]): Promise<void>;
  /**
   * Runs `work` while no other process runs the same-named section on this database
   * (GET_LOCK on MySQL; BEGIN IMMEDIATE around all of it on SQLite). For migrations.
   */
  exclusively<T>(name: string, work: () => Promise<T>): Promise<T>;
  /** What was measured in passing; asks the database nothing. */
  pressure(): DriverPressure;
  /** `null` without a pool. */
  pool(): PoolGauge | null;
  close(): Promise<void>;
}

/** How hard the way to the database is to go, as far as its driver knows. */
export interface DriverPressure {
  /** How long whoever waits longest for a connection has waited; 0: nobody waits. `null` without a pool. */
  readonly poolWaitMs: number | null;
  /** Moving average of the time a statement takes. */
  readonly statementMs: number;
  /** Size of SQLite's write-ahead log; `null` on other engines. */
  readonly walBytes: number | null;
}

/** A pool of connections as it stands. */
export interface PoolGauge {
  /** Connections it may open. */
  readonly size: number;
  readonly leased: number;
  readonly idle: number;
  /** Calls that wait for a connection. */
  readonly waiting: number;
}
