/**
 * One connection, one command at a time. Adds to mysql2 what a durable runtime needs: every wait is bounded, and
 * nothing hangs or crashes when the other end goes away.
 *
 *   open ──▶ alive ──(deadline, network, server ends it, destroy)──▶ dead
 *              └───end()──▶ dead
 */
import { connect, type Socket } from 'node:net';
import mysql, { type Connection, type ConnectionOptions, type QueryError } from 'mysql2';
import type { Cancel, Clock } from '../../../core/clock.js';
import type { Param, Reply, Row } from '../../plan.js';
import type { MysqlAddress } from './url.js';

export interface ConnectionSettings {
  readonly address: MysqlAddress;
  readonly clock: Clock;
  readonly connectTimeoutMs: number;
  /** Longest wait for one reply; after it the connection is destroyed, for nothing tells a slow server from a lost one. */
  readonly statementTimeoutMs: number;
  /** Prepared statements kept per connection; the least recently used is closed. */
  readonly maxPreparedStatements: number;
}

/** How JavaScript numbers travel. `double` is what mysql2 does by itself and is fast. */
export type NumberBinding = 'double' | 'bigint';

const KEEP_ALIVE_AFTER_MS = 10_000;
const END_TIMEOUT_MS = 1_000;

type Settle = (error: Error | null, result?: unknown) => void;

/** No answer came in time. What a lost peer and a server that hangs have in common. */
export const timedOut = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ETIMEDOUT';

export class MysqlConnection {
  /** TiDB plans a full scan when a DOUBLE meets a BIGINT in an IN list (pingcap/tidb#40224). */
  numberBinding: NumberBinding = 'double';
  /** Called once, when the connection died without being asked to. */
  onLost: (why: Error) => void = () => undefined;
  readonly #raw: Connection;
  readonly #socket: Socket;
  readonly #settings: ConnectionSettings;
  #dead: Error | null = null;
  #pending: Settle | null = null;

  private constructor(settings: ConnectionSettings) {
    const { address } = settings;
    this.#settings = settings;
    this.#socket = address.socketPath ? connect(address.socketPath) : connect(address.port, address.host);
    this.#socket.setNoDelay(true);
    this.#socket.setKeepAlive(true, KEEP_ALIVE_AFTER_MS);
    this.#raw = mysql.createConnection(clientOptions(settings, this.#socket));
    // Without a listener an error between two commands would end the process.
    this.#raw.on('error', (error) => this.#die(error));
    this.#raw.on('end', () => this.#die(connectionLost()));
    this.#socket.on('close', () => this.#die(connectionLost()));
  }

  /** @throws what mysql2 or the network threw; see errors.ts, phase `connect`. */
  static async open(settings: ConnectionSettings): Promise<MysqlConnection> {
    const connection = new MysqlConnection(settings);
    try {
      await connection.#within(settings.connectTimeoutMs, (settle) => {
        connection.#raw.connect((error) => settle(error));
      });
    } catch (error) {
      connection.destroy();
      throw error;
    }
    return connection;
  }

  get alive(): boolean {
    return this.#dead === null;
  }

  /** The server's number for this connection, as KILL takes it. */
  get id(): number {
    return this.#raw.threadId;
  }

  /** Runs `sql` as a prepared statement, prepared once per connection and text. */
  async execute(sql: string, params: readonly Param[]): Promise<Reply> {
    const values = params.map(this.numberBinding === 'bigint' ? bindExactly : bind);
    const result = await this.#within(this.#settings.statementTimeoutMs, (settle) => {
      this.#raw.execute(sql, values, settle);
    });
    return replyOf(result);
  }

  /** Runs `sql` as text: transaction control, session set-up and DDL. */
  async command(sql: string, timeoutMs = this.#settings.statementTimeoutMs): Promise<Reply> {
    const result = await this.#within(timeoutMs, (settle) => {
      this.#raw.query(sql, settle);
    });
    return replyOf(result);
  }

  /** Says goodbye and closes; never fails, never takes longer than a second. */
  async end(): Promise<void> {
    if (this.#dead) return;
    this.#dead = connectionLost();
    const closed = new Promise<void>((resolve) => {
      this.#socket.once('close', resolve);
    });
    const cancel = this.#settings.clock.after(END_TIMEOUT_MS, () => this.#socket.destroy());
    this.#raw.end();
    await closed;
    cancel();
  }

  /** Closes at once. A command in flight fails; the server rolls back when it notices. */
  destroy(): void {
    this.#dead ??= connectionLost();
    this.#pending?.(this.#dead);
    this.#raw.destroy();
    // mysql2 only half-closes: a peer that is gone would keep the socket open for a quarter of an hour.
    this.#socket.destroy();
  }

  #die(error: Error): void {
    if (this.#dead) return;
    this.#dead = error;
    this.destroy();
    this.onLost(error);
  }

  #within(timeoutMs: number, send: (settle: Settle) => void): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#dead) return reject(this.#dead);
      if (this.#pending) return reject(new Error('a connection takes one command at a time'));
      let cancel: Cancel = () => undefined;
      const settle: Settle = (error, result) => {
        if (this.#pending !== settle) return;
        this.#pending = null;
        cancel();
        if (error === null) return resolve(result);
        if ((error as QueryError).fatal) this.#die(error);
        reject(error);
      };
      this.#pending = settle;
      cancel = this.#settings.clock.after(timeoutMs, () => this.#die(noAnswer(timeoutMs)));
      try {
        send(settle);
      } catch (error) {
        settle(error as Error); // mysql2 throws at once what it cannot send
      }
    });
  }
}

function clientOptions(settings: ConnectionSettings, socket: Socket): ConnectionOptions {
  const { address } = settings;
  return {
    stream: socket,
    host: address.host,
    user: address.user,
    password: address.password,
    database: address.database,
    ...(address.tls === 'off' ? {} : { ssl: tlsOptions(address) }),
    charset: 'UTF8MB4_BIN',
    connectTimeout: 0, // ours covers more
    maxPreparedStatements: settings.maxPreparedStatements,
    decimalNumbers: true, // SUM() is a DECIMAL
    jsonStrings: true, // JSON is text to the Store, on every engine
  };
}

function tlsOptions({ tls, authorities }: MysqlAddress): NonNullable<ConnectionOptions['ssl']> {
  return {
    rejectUnauthorized: tls !== 'unverified',
    verifyIdentity: tls === 'verify-full',
    ...(authorities === null ? {} : { ca: authorities }),
  };
}

/** mysql2 takes a Uint8Array that is no Buffer for text and would convert its bytes. */
function bind(param: Param): string | number | null | Buffer {
  if (!(param instanceof Uint8Array) || Buffer.isBuffer(param))
    return param as string | number | null | Buffer;
  return Buffer.from(param.buffer, param.byteOffset, param.byteLength);
}

function bindExactly(param: Param): ReturnType<typeof bind> | ReturnType<typeof mysql.TypedParameter.BIGINT> {
  return Number.isSafeInteger(param) ? mysql.TypedParameter.BIGINT(param) : bind(param);
}

function replyOf(result: unknown): Reply {
  if (Array.isArray(result)) return { rows: result as Row[], changes: 0 };
  return { rows: [], changes: (result as { affectedRows?: number } | undefined)?.affectedRows ?? 0 };
}

function clientError(code: string, message: string): QueryError {
  return Object.assign(new Error(message), { code, fatal: true }) as QueryError;
}

const connectionLost = (): QueryError => clientError('PROTOCOL_CONNECTION_LOST', 'the connection was lost');
const noAnswer = (ms: number): QueryError =>
  clientError('ETIMEDOUT', `no answer from the database in ${ms} ms`);
