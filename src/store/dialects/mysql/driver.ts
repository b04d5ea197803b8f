/**
 * Plans over MySQL 8, MariaDB and TiDB. One transaction:
 *
 *   acquire ─▶ BEGIN ─▶ plan's statements ─▶ COMMIT ─▶ release
 *                │            │                 └─ failed ─▶ discard; an outage is `unknown`
 *                │            └─ failed ─▶ ROLLBACK, release (discard when the connection is lost)
 *                └─ an idle connection had died ─▶ discard, acquire again
 */

import { type Driver, type DriverPressure, type PoolGauge, StoreOutage } from '../../driver.js';
import { LatencyMeter } from '../../latency-meter.js';
import type { Call, Plan } from '../../plan.js';
import { type MysqlConnection, timedOut } from './connection.js';
import { mysqlDialect } from './dialect.js';
import { drive } from './drive.js';
import { classify, connectionIsLost, type Phase } from './errors.js';
import { inspectServer, type ServerReport } from './inspect.js';
import { takeLock } from './lock.js';
import { type MysqlDriverOptions, type MysqlSettings, settingsFrom } from './options.js';
import { Pool } from './pool.js';
import { openSession } from './session.js';

export type { MysqlDriverOptions } from './options.js';

export interface MysqlDriver extends Driver {
  /** What was found at start. */
  readonly server: ServerReport;
}

/**
 * Opens a pool on one database and inspects the server first.
 * @throws LaneheadError `invalid_configuration`, `unsupported_engine`, `durability_refused`; StoreOutage when the
 * server cannot be reached, of the kind AccessRefused when it refuses the login.
 */
export async function openMysqlDriver(options: MysqlDriverOptions): Promise<MysqlDriver> {
  const settings = settingsFrom(options);
  const driver = new PooledDriver(settings);
  try {
    await driver.inspect();
    return driver;
  } catch (error) {
    await driver.close();
    throw error;
  }
}

const inTransaction = (): Phase => 'statement';
const byItself = (call: Call): Phase => (call.statement.kind === 'write' ? 'autocommit' : 'statement');

class PooledDriver implements MysqlDriver {
  readonly dialect = mysqlDialect;
  #server: ServerReport | null = null;
  readonly #settings: MysqlSettings;
  readonly #pool: Pool;
  readonly #latency: LatencyMeter;
  readonly #closed = new AbortController();
  /** What runs under a lock, and says goodbye to its connection afterwards. */
  readonly #exclusive = new Set<Promise<unknown>>();

  constructor(settings: MysqlSettings) {
    this.#settings = settings;
    this.#latency = new LatencyMeter(settings.pool.clock);
    this.#pool = new Pool(settings.pool, () => openSession(settings.connection, settings.session));
  }

  get server(): ServerReport {
    if (this.#server === null) throw new Error('the server was not inspected');
    return this.#server;
  }

  async inspect(): Promise<void> {
    this.#server = await this.#lending('statement', (connection) =>
      inspectServer(connection, this.#settings.unsafeDurability),
    );
  }

  async transaction<T>(plan: () => Plan<T>): Promise<T> {
    const connection = await this.#begin();
    let result: T;
    try {
      result = await this.#drive(connection, plan, inTransaction);
      await this.#announce('commit', 'COMMIT', connection);
    } catch (error) {
      await this.#rollBack(connection, error);
      throw error;
    }
    await this.#commit(connection);
    return result;
  }

  query<T>(plan: () => Plan<T>): Promise<T> {
    return this.#lending('statement', (connection) => this.#drive(connection, plan, byItself));
  }

  async script(statements: readonly string[]): Promise<void> {
    await this.#lending('autocommit', async (connection) => {
      for (const sql of statements) await connection.command(sql, this.#settings.scriptTimeoutMs);
    });
  }

  async exclusively<T>(name: string, work: () => Promise<T>): Promise<T> {
    const exclusive = this.#underLock(name, work);
    this.#exclusive.add(exclusive);
    try {
      return await exclusive;
    } finally {
      this.#exclusive.delete(exclusive);
    }
  }

  pressure(): DriverPressure {
    return { poolWaitMs: this.#pool.waitMs, statementMs: this.#latency.latencyMs, walBytes: null };
  }

  pool(): PoolGauge {
    return this.#pool.gauge;
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.#pool.close(this.#settings.closeTimeoutMs);
    // It has lost its lock or its pool, and every wait of its own is bounded.
    await Promise.allSettled(this.#exclusive);
  }

  async #underLock<T>(name: string, work: () => Promise<T>): Promise<T> {
    const { connection, session, scriptTimeoutMs, exclusiveWaitMs } = this.#settings;
    const lock = await takeLock(connection, { ...session, sessionTimeoutMs: scriptTimeoutMs }, name, {
      waitMs: exclusiveWaitMs,
      closed: this.#closed.signal,
    });
    try {
      const result = await work();
      await lock.release();
      return result;
    } finally {
      await lock.connection.end();
    }
  }

  #drive<T>(connection: MysqlConnection, plan: () => Plan<T>, phaseOf: (call: Call) => Phase): Promise<T> {
    const { maxPacketBytes } = this.server;
    const { pool, onStatement } = this.#settings;
    const meter = { clock: pool.clock, latency: this.#latency };
    return drive(connection, plan, { phaseOf, maxPacketBytes, onStatement, meter });
  }

  /** An idle connection that turns out dead is replaced here, where nothing has been done on it yet. */
  async #begin(): Promise<MysqlConnection> {
    const { beginSql, connection: settings, pool } = this.#settings;
    for (let attempt = 1; ; attempt++) {
      const { connection, reused } = await this.#pool.acquire();
      try {
        await this.#announce('begin', beginSql, connection);
        await connection.command(beginSql, settings.connectTimeoutMs);
        return connection;
      } catch (error) {
        this.#giveBack(connection, error);
        const stale = reused && !connection.alive && !timedOut(error);
        if (!stale || attempt > pool.size) throw classify(error, 'begin');
      }
    }
  }

  async #commit(connection: MysqlConnection): Promise<void> {
    if (!connection.alive) {
      this.#pool.discard(connection);
      throw new StoreOutage('the connection was lost before COMMIT', 'none');
    }
    try {
      await connection.command('COMMIT');
    } catch (error) {
      this.#pool.discard(connection);
      throw classify(error, 'commit');
    }
    this.#pool.release(connection);
  }

  /** Also after errors that ended the transaction by themselves: there it is harmless. */
  async #rollBack(connection: MysqlConnection, reason: unknown): Promise<void> {
    try {
      if (connection.alive) await connection.command('ROLLBACK', this.#settings.connection.connectTimeoutMs);
      this.#giveBack(connection, reason);
    } catch {
      this.#pool.discard(connection);
    }
  }

  async #lending<T>(phase: Phase, use: (connection: MysqlConnection) => Promise<T>): Promise<T> {
    const { connection } = await this.#pool.acquire();
    try {
      const result = await use(connection);
      this.#pool.release(connection);
      return result;
    } catch (error) {
      this.#giveBack(connection, error);
      throw classify(error, phase);
    }
  }

  #giveBack(connection: MysqlConnection, error: unknown): void {
    if (connectionIsLost(error)) this.#pool.discard(connection);
    else this.#pool.release(connection);
  }

  async #announce(kind: 'begin' | 'commit', sql: string, connection: MysqlConnection): Promise<void> {
    await this.#settings.onStatement?.({ kind, name: kind, sql, connectionId: connection.id });
  }
}
