import type { Clock } from '../../../core/clock.js';
import { LaneheadError } from '../../../core/errors.js';
import type { ConnectionSettings } from './connection.js';
import type { PoolSettings } from './pool.js';
import type { Isolation, SessionSettings } from './session.js';
import { parseMysqlUrl } from './url.js';

/** What is about to be sent to the server, in a transaction or (without `begin` and `commit`) outside one. */
export interface MysqlStep {
  readonly kind: 'begin' | 'statement' | 'commit';
  /** The statement's name; equal to `kind` for the other two. */
  readonly name: string;
  readonly sql: string;
  /** The connection's number, as the server's process list shows it. */
  readonly connectionId: number;
}

export interface MysqlDriverOptions {
  /** `mysql://user:password@host:3306/database`; see `parseMysqlUrl`. */
  readonly url: string;
  readonly clock: Clock;
  /** Connections at most, ≥ 1. Default 10. The lock of `exclusively` has one of its own. */
  readonly poolSize?: number;
  /** Longest wait for a free connection. Default 5,000. */
  readonly acquireTimeoutMs?: number;
  /** TCP, TLS and login together, and again for the set-up of the session. Default 5,000. */
  readonly connectTimeoutMs?: number;
  /** Longest wait for one statement; more than `lockWaitMs`. Default 30,000. */
  readonly statementTimeoutMs?: number;
  /** The same for statements of `script`: DDL may copy a table. Default an hour; keep-alive ends a lost connection before. */
  readonly scriptTimeoutMs?: number;
  /** How long a statement waits for a lock, in whole seconds. Default 5,000. */
  readonly lockWaitMs?: number;
  /** An idle connection is given up after this; the server ends it at twice that. Default 15,000. */
  readonly idleTimeoutMs?: number;
  /** How long `exclusively` waits for its turn. Default 300,000. */
  readonly exclusiveWaitMs?: number;
  /** How long `close` lets running transactions go on. Default 10,000. */
  readonly closeTimeoutMs?: number;
  /** Default `read-committed`. */
  readonly isolation?: Isolation;
  /** Prepared statements per connection. Default 500. */
  readonly maxPreparedStatements?: number;
  /** Accept settings under which a power cut loses commits. Default false. */
  readonly unsafeDurability?: boolean;
  /**
   * Begin with START TRANSACTION WITH CONSISTENT SNAPSHOT: on InnoDB it fixes the snapshot at BEGIN, as TiDB
   * always does. Default false; for tests.
   */
  readonly snapshotBegin?: boolean;
  /** MariaDB's `innodb_snapshot_isolation`. Default: as the server has it; for tests. */
  readonly snapshotIsolation?: boolean;
  /** Called before each step is sent, and awaited; for tests. */
  readonly onStatement?: (step: MysqlStep) => void | Promise<void>;
}

export interface MysqlSettings {
  readonly connection: ConnectionSettings;
  readonly session: SessionSettings;
  readonly pool: PoolSettings;
  readonly scriptTimeoutMs: number;
  readonly exclusiveWaitMs: number;
  readonly closeTimeoutMs: number;
  readonly unsafeDurability: boolean;
  readonly beginSql: string;
  readonly onStatement: ((step: MysqlStep) => void | Promise<void>) | undefined;
}

const DEFAULTS = {
  poolSize: 10,
  acquireTimeoutMs: 5_000,
  connectTimeoutMs: 5_000,
  statementTimeoutMs: 30_000,
  scriptTimeoutMs: 3_600_000,
  lockWaitMs: 5_000,
  idleTimeoutMs: 15_000,
  exclusiveWaitMs: 300_000,
  closeTimeoutMs: 10_000,
  maxPreparedStatements: 500,
};

/** @throws LaneheadError `invalid_configuration` that names every wrong setting. */
export function settingsFrom(options: MysqlDriverOptions): MysqlSettings {
  const all = { ...DEFAULTS, ...options };
  const problems = (Object.keys(DEFAULTS) as (keyof typeof DEFAULTS)[])
    .filter((name) => !Number.isSafeInteger(all[name]) || all[name] < 1)
    .map((name) => `${name} must be a whole number, 1 or more`);
  if (all.statementTimeoutMs <= all.lockWaitMs)
    problems.push('statementTimeoutMs must be more than lockWaitMs');
  if (problems.length > 0) throw new LaneheadError('invalid_configuration', problems.join('; '));
  const { clock } = all;
  return Object.freeze({
    connection: {
      address: parseMysqlUrl(all.url),
      clock,
      connectTimeoutMs: all.connectTimeoutMs,
      statementTimeoutMs: all.statementTimeoutMs,
      maxPreparedStatements: all.maxPreparedStatements,
    },
    session: {
      isolation: all.isolation ?? 'read-committed',
      lockWaitMs: all.lockWaitMs,
      sessionTimeoutMs: 2 * all.idleTimeoutMs,
      snapshotIsolation: all.snapshotIsolation ?? null,
    },
    pool: {
      clock,
      size: all.poolSize,
      acquireTimeoutMs: all.acquireTimeoutMs,
      idleTimeoutMs: all.idleTimeoutMs,
    },
    scriptTimeoutMs: all.scriptTimeoutMs,
    exclusiveWaitMs: all.exclusiveWaitMs,
    closeTimeoutMs: all.closeTimeoutMs,
    unsafeDurability: all.unsafeDurability ?? false,
    beginSql: all.snapshotBegin ? 'START TRANSACTION WITH CONSISTENT SNAPSHOT' : 'START TRANSACTION',
    onStatement: all.onStatement,
  });
}
