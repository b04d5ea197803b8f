/**
 * One database under all virtual processes: SQLite in memory, with a virtual lock that lets one transaction in at a
 * time, first come first served, as BEGIN IMMEDIATE does. Opened once in an OS process, emptied for every world.
 *
 *   waiting ──granted──▶ open ──COMMIT──▶ over
 *      └──too long──▶ over └──rolled back, or its process died──▶ over
 */
import Database from 'better-sqlite3';
import type { Cancel } from '../../src/core/clock.js';
import { PreparedStatements } from '../../src/store/dialects/sqlite/prepared.js';
import { MIGRATIONS } from '../../src/store/migrations/index.js';
import type { Call, Plan, Reply } from '../../src/store/plan.js';
import { type RowNote, watchRows } from './row-notes.js';
import { EPOCH_MS } from './virtual-clock.js';
import type { World } from './world.js';

/** One transaction, or one statement by itself, of one life of a process. */
export interface Session {
  readonly life: object;
  state: 'waiting' | 'open' | 'over';
}

interface Waiter {
  readonly session: Session;
  readonly decide: (granted: boolean) => void;
  readonly cancelTimeout: Cancel;
}

export class SharedDatabase {
  readonly #db: Database.Database;
  readonly #statements: PreparedStatements;
  readonly #tables: readonly string[];
  #world: World;
  #onCommit: (notes: readonly RowNote[]) => void = () => undefined;
  #notes: RowNote[] = [];
  #holder: Session | null = null;
  #waiting: Waiter[] = [];
  #skewMs = 0;
  #beganAt = 0;
  #shownBefore = Number.NEGATIVE_INFINITY;
  #jumpedAt = Number.NEGATIVE_INFINITY;

  constructor(world: World, itemOf: (payload: Uint8Array) => string) {
    this.#world = world;
    this.#db = new Database(':memory:');
    this.#db.function('lanehead_now', { deterministic: false }, () => this.now());
    for (const migration of MIGRATIONS) for (const text of migration.sqlite) this.#db.exec(text);
    watchRows(
      this.#db,
      () => this.now(),
      itemOf,
      (note) => void this.#notes.push(note),
    );
    this.#statements = new PreparedStatements(this.#db);
    this.#tables = this.#db
      .prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' AND (name LIKE '\\_System%' ESCAPE '\\'
        OR name = 'sqlite_sequence')`)
      .pluck()
      .all() as string[];
  }

  /** Empty, for another world. */
  reset(world: World, onCommit: (notes: readonly RowNote[]) => void): void {
    if (this.#db.inTransaction) this.#db.exec('ROLLBACK');
    for (const table of this.#tables) this.#db.exec(`DELETE FROM ${table}`);
    this.#world = world;
    this.#onCommit = onCommit;
    this.#notes = [];
    this.#holder = null;
    this.#waiting = [];
    this.#skewMs = 0;
    this.#jumpedAt = Number.NEGATIVE_INFINITY;
  }

  /** The authority's clock. */
  now(): number {
    return Math.floor(EPOCH_MS + this.#world.now + this.#skewMs);
  }

  jump(byMs: number): void {
    this.#shownBefore = Math.max(this.#shownBefore, this.now());
    this.#skewMs += byMs;
    this.#jumpedAt = this.#world.now;
  }

  /** When its clock last jumped; of the world. */
  get jumpedAt(): number {
    return this.#jumpedAt;
  }

  /** When the transaction that is open began, by its own clock. */
  get beganAt(): number {
    return this.#beganAt;
  }

  /** What the open transaction may have read off its clock before that jumped; none did: minus infinity. */
  get shownBefore(): number {
    return this.#shownBefore;
  }

  get holder(): Session | null {
    return this.#holder;
  }

  /** False: waited `patienceMs` for others. Never resolves for a process that died. */
  acquire(session: Session, patienceMs: number): Promise<boolean> {
    if (this.#holder === null) {
      this.#holder = session;
      return Promise.resolve(true);
    }
    return new Promise((decide) => {
      const cancelTimeout = this.#world.after(patienceMs, null, () => {
        this.#waiting = this.#waiting.filter((waiter) => waiter.session !== session);
        decide(false);
      });
      this.#waiting.push({ session, decide, cancelTimeout });
    });
  }

  begin(session: Session): void {
    session.state = 'open';
    this.#beganAt = this.now();
    this.#shownBefore = Number.NEGATIVE_INFINITY;
    this.#notes = [];
    this.#db.exec('BEGIN IMMEDIATE');
  }

  perform(call: Call): Reply {
    return this.#statements.perform(call);
  }

  commit(session: Session): void {
    this.#db.exec('COMMIT');
    this.#onCommit(this.#notes);
    this.release(session);
  }

  rollBack(session: Session): void {
    if (session.state === 'open') this.#db.exec('ROLLBACK');
    this.release(session);
  }

  release(session: Session): void {
    session.state = 'over';
    if (this.#holder !== session) return;
    this.#notes = [];
    const next = this.#waiting.shift();
    this.#holder = next?.session ?? null;
    next?.cancelTimeout();
    next?.decide(true);
  }

  /** The server ends the transaction of a client that says nothing any more. */
  giveUp(life: object): void {
    if (this.#holder?.life === life) this.rollBack(this.#holder);
  }

  /** Its process died: what it had begun is undone, what it waited for is not granted. */
  abandon(life: object): void {
    this.#waiting = this.#waiting.filter((waiter) => {
      if (waiter.session.life === life) waiter.cancelTimeout();
      return waiter.session.life !== life;
    });
    this.giveUp(life);
  }

  /** Asks at once, outside of every process. Only while no transaction is open. */
  ask<T>(plan: Plan<T>): T {
    let step = plan.next();
    while (!step.done) step = plan.next(this.perform(step.value));
    return step.value;
  }

  /** A transaction of somebody outside of every process, at once. Only while no other is open. */
  act<T>(plan: Plan<T>): T {
    this.#notes = [];
    this.#db.exec('BEGIN IMMEDIATE');
    try {
      const result = this.ask(plan);
      this.#db.exec('COMMIT');
      this.#onCommit(this.#notes);
      return result;
    } finally {
      if (this.#db.inTransaction) this.#db.exec('ROLLBACK');
      this.#notes = [];
    }
  }

  /** Outside of every process: what a fault does, or a check asks. Only while no transaction is open. */
  beside(sql: string, ...params: readonly unknown[]): unknown[] {
    const statement = this.#db.prepare(sql);
    if (statement.reader) return statement.all(...params);
    this.#notes = [];
    statement.run(...params);
    this.#onCommit(this.#notes);
    this.#notes = [];
    return [];
  }
}
