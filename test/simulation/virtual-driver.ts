/**
 * Runs plans against the shared database statement by statement, with time passing in between, and everything that
 * can happen to a connection: slow answers, refusals, outages, a COMMIT whose answer is lost in either direction,
 * and the death of its process before or after any statement.
 */

import { sqliteDialect } from '../../src/store/dialects/sqlite/dialect.js';
import { classify } from '../../src/store/dialects/sqlite/errors.js';
import {
  Contention,
  type Driver,
  type DriverPressure,
  DuplicateKey,
  StoreOutage,
} from '../../src/store/driver.js';
import type { Call, Plan, Reply, Row } from '../../src/store/plan.js';
import type { Faults } from './faults.js';
import type { Hardships } from './hardships.js';
import type { Seeded } from './seeded.js';
import type { Session, SharedDatabase } from './shared-database.js';
import { never, type Thread, type World } from './world.js';

export interface VirtualDriverParts {
  readonly world: World;
  readonly database: SharedDatabase;
  readonly faults: Faults;
  readonly hardships: Hardships;
  readonly random: Seeded;
  /** Who asks, and is answered. */
  readonly caller: Thread;
  /** Who talks to the database meanwhile: stands still only when the whole process does. */
  readonly io: Thread;
  readonly life: { readonly name: string; crash(): void };
  /** A database that cannot be reached. */
  readonly isOut: () => boolean;
  /** Usual time of a statement. */
  readonly statementMs: number;
}

const LOCK_PATIENCE_MS = 3_000;
const SLOW_MS = 800;
/** Of the statements within a transaction, those before which time passes. */
const STEP_SHARE = 0.25;

export class VirtualDriver implements Driver {
  readonly dialect = sqliteDialect;
  readonly #parts: VirtualDriverParts;

  constructor(parts: VirtualDriverParts) {
    this.#parts = parts;
  }

  transaction<T>(plan: () => Plan<T>): Promise<T> {
    return this.#answered(this.#transact(plan));
  }

  query<T>(plan: () => Plan<T>): Promise<T> {
    return this.#answered(this.#drive(plan(), (call) => this.#alone(call)));
  }

  script(): Promise<void> {
    throw new Error('the schema is there already');
  }

  exclusively<T>(_name: string, work: () => Promise<T>): Promise<T> {
    return work();
  }

  pool(): null {
    return null;
  }

  pressure(): DriverPressure {
    return { poolWaitMs: 0, statementMs: 0, walBytes: 0 };
  }

  async close(): Promise<void> {}

  async #transact<T>(plan: () => Plan<T>): Promise<T> {
    const { database, life } = this.#parts;
    const session: Session = { life, state: 'waiting' };
    await this.#latency('BEGIN');
    await this.#enter(session);
    try {
      database.begin(session);
      const result = await this.#drive(plan(), (call) => this.#within(session, call));
      await this.#commit(session);
      return result;
    } catch (error) {
      if (session.state !== 'over') database.rollBack(session);
      throw error;
    }
  }

  async #enter(session: Session): Promise<void> {
    const { database, world, io, hardships, life } = this.#parts;
    const served = hardships.statements.waits(life.name);
    const granted = await database.acquire(session, LOCK_PATIENCE_MS);
    // Granted by whoever let go: it is noticed here when this process runs.
    await world.wait(0, io);
    served();
    if (session.state === 'over') throw new StoreOutage('the connection was given up', 'none');
    if (!granted) throw new Contention('the database is locked');
  }

  async #alone(call: Call): Promise<Reply> {
    const { database, life } = this.#parts;
    const session: Session = { life, state: 'waiting' };
    await this.#latency(call.statement.name);
    await this.#enter(session);
    try {
      this.#mayFail();
      return this.#perform(call);
    } finally {
      database.release(session);
    }
  }

  async #within(session: Session, call: Call): Promise<Reply> {
    await this.#latency(call.statement.name, true);
    this.#requireOpen(session);
    this.#mayFail();
    const reply = this.#perform(call);
    if (this.#parts.faults.strikes('crash_in_transaction')) return this.#die();
    return reply;
  }

  async #commit(session: Session): Promise<void> {
    const { database, faults, life, world } = this.#parts;
    await this.#latency('COMMIT');
    this.#requireOpen(session);
    if (faults.strikes('crash_in_transaction')) return this.#die();
    this.#mayFail();
    if (faults.strikes('lost_commit_undone')) {
      database.rollBack(session);
      throw new StoreOutage('the connection was lost at COMMIT', 'unknown');
    }
    world.trace.note(`${life.name} COMMIT`);
    database.commit(session);
    if (faults.strikes('crash_in_transaction')) return this.#die();
    if (faults.strikes('lost_commit_done')) {
      throw new StoreOutage('the connection was lost after COMMIT', 'unknown');
    }
  }

  async #drive<T>(plan: Plan<T>, perform: (call: Call) => Promise<Reply>): Promise<T> {
    let step = plan.next();
    while (!step.done) {
      let reply: Reply;
      try {
        reply = await perform(step.value);
      } catch (error) {
        const classified = classify(error, false);
        if (!(classified instanceof DuplicateKey)) throw classified;
        step = plan.throw(classified);
        continue;
      }
      step = plan.next(reply);
    }
    return step.value;
  }

  #perform(call: Call): Reply {
    const { database, world, life } = this.#parts;
    const heading = `${life.name} ${call.statement.name} ${textOf(call.params)}`;
    try {
      const reply = database.perform(call);
      world.trace.note(`${heading} → ${reply.changes} ${rowsText(reply.rows)}`);
      return reply;
    } catch (error) {
      world.trace.note(`${heading} ✗ ${error}`);
      throw error;
    }
  }

  async #latency(name: string, within = false): Promise<void> {
    const { world, io, random, statementMs, faults, life } = this.#parts;
    const slow = faults.strikes('slow_statement') ? random.between(0, SLOW_MS) : 0;
    if (slow > 0) {
      faults.lasts(slow);
      this.#parts.hardships.statements.lasts(life.name, slow);
    }
    // Only one transaction is open at a time, so most statements may follow the one before at once.
    if (slow === 0 && within && !random.chance(STEP_SHARE)) return;
    await world.wait(statementMs * (0.5 + random.float()) + slow, io);
    if (name === 'BEGIN' || !this.#parts.isOut()) return;
    world.trace.note(`${life.name} ${name} finds no database`);
    throw new StoreOutage('the database cannot be reached', 'none');
  }

  #mayFail(): void {
    const { faults } = this.#parts;
    if (faults.strikes('contention')) throw new Contention('a deadlock was found');
    if (faults.strikes('failed_statement')) throw new StoreOutage('the connection was lost', 'none');
  }

  #requireOpen(session: Session): void {
    if (session.state !== 'open') throw new StoreOutage('the connection was given up', 'none');
  }

  #die(): Promise<never> {
    this.#parts.life.crash();
    return never();
  }

  /** The answer reaches whoever asked when that thread runs again. */
  async #answered<T>(work: Promise<T>): Promise<T> {
    const { world, caller } = this.#parts;
    const settled = work.then(
      (value) => () => value,
      (error) => () => {
        this.#parts.hardships.statements.fails(this.#parts.life.name);
        throw error;
      },
    );
    const end = await settled;
    await world.wait(0, caller);
    return end();
  }
}

function textOf(values: readonly unknown[]): string {
  return values
    .map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value))
    .join(',');
}

const rowsText = (rows: readonly Row[]): string => rows.map((row) => textOf(Object.values(row))).join(';');
