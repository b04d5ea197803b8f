/**
 * A bounded pool. mysql2's own has no limit on the wait for a connection, hands out sessions before they are set
 * up, and leaves errors of connections it has dropped without a listener.
 *
 *   acquire ─┬─ an idle one, if it is young enough ─▶ leased ─┬─ release ─▶ the first waiter, or idle
 *            ├─ fewer than `size`: open one ─────────▶        └─ discard ─▶ the first waiter may open one
 *            └─ else wait in line, `acquireTimeoutMs` at most
 *
 * The one used last is lent first, so what a quiet hour does not need grows old and the server ends it.
 * Invariant: somebody waits only while `size` connections are open or being opened, and none is idle.
 */
import type { Cancel, Clock } from '../../../core/clock.js';
import { type PoolGauge, StoreOutage } from '../../driver.js';
import { type MysqlConnection, timedOut } from './connection.js';
import { classify } from './errors.js';

export interface PoolSettings {
  readonly clock: Clock;
  readonly size: number;
  readonly acquireTimeoutMs: number;
  /** An idle connection older than this is not lent again; below the server's idle limit. */
  readonly idleTimeoutMs: number;
}

export interface Leased {
  readonly connection: MysqlConnection;
  /** It lay idle before, so it may have died unnoticed. */
  readonly reused: boolean;
}

interface Idle {
  readonly connection: MysqlConnection;
  readonly sinceMs: number;
}

interface Waiter {
  readonly sinceMs: number;
  /** `null`: one may be opened now; its place is reserved. */
  readonly serve: (connection: MysqlConnection | null) => void;
  readonly refuse: (error: Error) => void;
}

const closedError = () => new StoreOutage('the store is closed', 'none');

export class Pool {
  readonly #settings: PoolSettings;
  readonly #open: () => Promise<MysqlConnection>;
  readonly #idle: Idle[] = [];
  readonly #leased = new Set<MysqlConnection>();
  readonly #waiters: Waiter[] = [];
  /** Open, or being opened. */
  #places = 0;
  #opening = 0;
  #closing: Promise<void> | null = null;
  #drained: () => void = () => undefined;

  constructor(settings: PoolSettings, open: () => Promise<MysqlConnection>) {
    this.#settings = settings;
    this.#open = open;
  }

  /** How long whoever waits longest has waited; 0: nobody waits. */
  get waitMs(): number {
    const [first] = this.#waiters;
    return first === undefined ? 0 : this.#settings.clock.monotonic() - first.sinceMs;
  }

  get gauge(): PoolGauge {
    const leased = this.#leased.size;
    return { size: this.#settings.size, leased, idle: this.#idle.length, waiting: this.#waiters.length };
  }

  /** @throws StoreOutage `none` when no connection is free in time or none can be opened; or a permanent error. */
  async acquire(): Promise<Leased> {
    if (this.#closing !== null) throw closedError();
    const idle = this.#takeIdle();
    if (idle) return this.#lend(idle, true);
    if (this.#places < this.#settings.size) {
      this.#places++;
      return this.#openReserved();
    }
    const served = await this.#wait();
    return served ? this.#lend(served, true) : this.#openReserved();
  }

  release(connection: MysqlConnection): void {
    if (!connection.alive) {
      this.discard(connection);
      return;
    }
    const next = this.#waiters.shift();
    if (next) {
      next.serve(connection);
      return;
    }
    this.#leased.delete(connection);
    this.#idle.push({ connection, sinceMs: this.#settings.clock.monotonic() });
    this.#checkDrained();
  }

  /** Gives back a connection that must not be used again. */
  discard(connection: MysqlConnection): void {
    connection.destroy();
    this.#leased.delete(connection);
    this.#freePlace();
    this.#checkDrained();
  }

  /**
   * Refuses whoever waits, gives what runs or is being opened `timeoutMs` to end, then cuts it off. Later calls await
   * the first.
   */
  close(timeoutMs: number): Promise<void> {
    this.#closing ??= this.#close(timeoutMs);
    return this.#closing;
  }

  async #close(timeoutMs: number): Promise<void> {
    for (const waiter of this.#waiters.splice(0)) waiter.refuse(closedError());
    if (!this.#isDrained) {
      let cancel: Cancel = () => undefined;
      await new Promise<void>((resolve) => {
        this.#drained = resolve;
        cancel = this.#settings.clock.after(timeoutMs, resolve);
      });
      cancel();
    }
    for (const connection of this.#leased) connection.destroy();
    await Promise.all(this.#idle.splice(0).map(({ connection }) => connection.end()));
  }

  #takeIdle(): MysqlConnection | null {
    const now = this.#settings.clock.monotonic();
    for (let last = this.#idle.pop(); last; last = this.#idle.pop()) {
      if (last.connection.alive && now - last.sinceMs < this.#settings.idleTimeoutMs) return last.connection;
      last.connection.destroy();
      this.#freePlace();
    }
    return null;
  }

  #lend(connection: MysqlConnection, reused: boolean): Leased {
    this.#leased.add(connection);
    return { connection, reused };
  }

  async #openReserved(): Promise<Leased> {
    this.#opening++;
    try {
      return await this.#openOne();
    } finally {
      this.#opening--;
      this.#checkDrained();
    }
  }

  async #openOne(): Promise<Leased> {
    let connection: MysqlConnection;
    try {
      connection = await this.#open();
    } catch (error) {
      this.#freePlace();
      throw classify(error, 'connect');
    }
    connection.onLost = (why) => this.#onLost(connection, why);
    if (this.#closing === null) return this.#lend(connection, false);
    await connection.end();
    throw closedError();
  }

  #wait(): Promise<MysqlConnection | null> {
    const { clock, acquireTimeoutMs, size } = this.#settings;
    return new Promise((resolve, reject) => {
      const leave = () => {
        const place = this.#waiters.indexOf(waiter);
        if (place >= 0) this.#waiters.splice(place, 1);
        reject(new StoreOutage(`none of ${size} connections was free in ${acquireTimeoutMs} ms`, 'none'));
      };
      const cancel = clock.after(acquireTimeoutMs, leave);
      const waiter: Waiter = {
        sinceMs: clock.monotonic(),
        serve: (connection) => {
          cancel();
          resolve(connection);
        },
        refuse: (error) => {
          cancel();
          reject(error);
        },
      };
      this.#waiters.push(waiter);
    });
  }

  /** Hands the place to the first waiter, or gives it up. */
  #freePlace(): void {
    const next = this.#waiters.shift();
    if (next) next.serve(null);
    else this.#places--;
  }

  #onLost(lost: MysqlConnection, why: Error): void {
    const place = this.#idle.findIndex(({ connection }) => connection === lost);
    if (place >= 0) this.#idle.splice(place, 1);
    if (place >= 0) this.#freePlace();
    // Where one peer has gone silent the idle ones are suspects, and each would cost another time-out.
    if (timedOut(why)) for (const { connection } of this.#idle.splice(0)) this.discard(connection);
  }

  get #isDrained(): boolean {
    return this.#leased.size === 0 && this.#opening === 0;
  }

  #checkDrained(): void {
    if (this.#isDrained) this.#drained();
  }
}
