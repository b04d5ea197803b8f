import { statSync } from 'node:fs';
import Database from 'better-sqlite3';
import type { Clock } from '../../../core/clock.js';
import { LaneheadError } from '../../../core/errors.js';
import { type Driver, type DriverPressure, DuplicateKey } from '../../driver.js';
import { LatencyMeter } from '../../latency-meter.js';
import type { Call, Plan, Reply } from '../../plan.js';
import { sqliteDialect } from './dialect.js';
import { classify } from './errors.js';
import { PreparedStatements } from './prepared.js';

export interface SqliteDriverOptions {
  /** A path, or `:memory:` (only with `unsafeDurability`). */
  readonly path: string;
  readonly clock: Clock;
  /** Accepts `:memory:` and skips nothing else. */
  readonly unsafeDurability?: boolean;
  /** For readers beside a serving process: no writes, no checks of durability. */
  readonly readOnly?: boolean;
  /** How long a statement waits for another process's write lock. Blocks the thread. Default 5,000. */
  readonly busyTimeoutMs?: number;
  /** Called before each statement with its name; for tests that stop or fail at a statement. */
  readonly onStatement?: (name: string) => void;
}

/** `transactionNow` is `transaction` without the promise: the whole of it runs in one tick. */
export interface SqliteDriver extends Driver {
  transactionNow<T>(plan: () => Plan<T>): T;
}

/**
 * One connection in this thread. Every transaction is BEGIN IMMEDIATE (a deferred one that reads first and then
 * writes fails with SQLITE_BUSY_SNAPSHOT) and runs to its end without yielding to the event loop.
 */
export function openSqliteDriver(options: SqliteDriverOptions): SqliteDriver {
  const db = open(options);
  db.function('lanehead_now', { deterministic: false }, () => options.clock.now());
  return new Connection(db, options);
}

class Connection implements SqliteDriver {
  readonly dialect = sqliteDialect;
  readonly #db: Database.Database;
  readonly #onStatement: (name: string) => void;
  readonly #statements: PreparedStatements;
  readonly #clock: Clock;
  readonly #latency: LatencyMeter;

  constructor(db: Database.Database, { clock, onStatement = () => undefined }: SqliteDriverOptions) {
    this.#db = db;
    this.#statements = new PreparedStatements(db);
    this.#onStatement = onStatement;
    this.#clock = clock;
    this.#latency = new LatencyMeter(clock);
  }

  transactionNow<T>(plan: () => Plan<T>): T {
    this.#control('BEGIN', 'BEGIN IMMEDIATE');
    try {
      const result = this.#drive(plan());
      this.#control('COMMIT', 'COMMIT');
      return result;
    } catch (error) {
      this.#rollBack();
      throw error;
    }
  }

  async transaction<T>(plan: () => Plan<T>): Promise<T> {
    return this.transactionNow(plan);
  }

  async query<T>(plan: () => Plan<T>): Promise<T> {
    return this.#drive(plan());
  }

  async script(texts: readonly string[]): Promise<void> {
    for (const text of texts) this.#db.exec(text);
  }

  async exclusively<T>(_name: string, work: () => Promise<T>): Promise<T> {
    this.#control('BEGIN', 'BEGIN IMMEDIATE');
    try {
      const result = await work();
      this.#control('COMMIT', 'COMMIT');
      return result;
    } catch (error) {
      this.#rollBack();
      throw classify(error, false, this.#db.name);
    }
  }

  pressure(): DriverPressure {
    const wal = statSync(`${this.#db.name}-wal`, { throwIfNoEntry: false });
    return { poolWaitMs: null, statementMs: this.#latency.latencyMs, walBytes: wal?.size ?? 0 };
  }

  pool(): null {
    return null;
  }

  async close(): Promise<void> {
    this.#db.close();
  }

  #drive<T>(plan: Plan<T>): T {
    let step = plan.next();
    while (!step.done) {
      let reply: Reply;
      try {
        reply = this.#perform(step.value);
      } catch (error) {
        const classified = classify(error, false, this.#db.name);
        if (!(classified instanceof DuplicateKey)) throw classified;
        step = plan.throw(classified);
        continue;
      }
      step = plan.next(reply);
    }
    return step.value;
  }

  #perform(call: Call): Reply {
    this.#onStatement(call.statement.name);
    const startedAt = this.#clock.monotonic();
    const reply = this.#statements.perform(call);
    this.#latency.note(startedAt);
    return reply;
  }

  #control(name: string, text: string): void {
    this.#onStatement(name);
    const startedAt = this.#clock.monotonic();
    try {
      this.#db.exec(text);
      this.#latency.note(startedAt);
    } catch (error) {
      throw classify(error, name === 'COMMIT', this.#db.name);
    }
  }

  /** Some failures (a full disk, an I/O error) have rolled back already. */
  #rollBack(): void {
    if (this.#db.inTransaction) this.#db.exec('ROLLBACK');
  }
}

/** What the write-ahead log is cut back to when it starts anew. */
const KEPT_WAL_BYTES = 64 * 2 ** 20;

function open(options: SqliteDriverOptions): Database.Database {
  const memory = options.path === ':memory:';
  if (memory && !options.unsafeDurability) {
    throw new LaneheadError('durability_refused', 'sqlite::memory: keeps nothing; name a file');
  }
  try {
    const db = new Database(options.path, { readonly: options.readOnly ?? false });
    db.pragma(`busy_timeout = ${options.busyTimeoutMs ?? 5_000}`);
    if (!options.readOnly) {
      db.pragma('journal_mode = WAL');
      // After journal_mode: better-sqlite3 compiles WAL with a default of NORMAL, which loses commits at power loss.
      db.pragma('synchronous = FULL');
      // The log keeps the size of its worst hour otherwise, and its size is a sign of pressure.
      db.pragma(`journal_size_limit = ${KEPT_WAL_BYTES}`);
      if (!memory) requireDurable(db);
    }
    return db;
  } catch (error) {
    throw classify(error, false, options.path);
  }
}

function requireDurable(db: Database.Database): void {
  const journal = db.pragma('journal_mode', { simple: true });
  const synchronous = Number(db.pragma('synchronous', { simple: true }));
  if (journal !== 'wal' || synchronous < 2) {
    throw new LaneheadError(
      'durability_refused',
      `the SQLite file runs with journal_mode=${journal}, synchronous=${synchronous}; needed: wal and 2 (FULL)`,
    );
  }
}
