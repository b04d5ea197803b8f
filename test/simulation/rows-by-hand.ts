/** Rows without a database: commits made by hand, and what the rules say of them. */

import type { Limits } from '../../src/core/limits.js';
import type { Lease } from '../../src/core/work.js';
import { Hardships } from './hardships.js';
import type { FlowRun } from './ledger.js';
import { Ledger } from './ledger.js';
import { LimitRules } from './limit-rules.js';
import { RowAudit } from './row-audit.js';
import type { ItemIdentity, ItemState, RowNote } from './row-notes.js';
import { Thread, World } from './world.js';

export const LEASE_MS = 1_000;
const BUDGET = 3;

const NEW: ItemState = {
  state: 'pending',
  readiness: 2,
  runAfter: 0,
  leaseUntil: null,
  token: null,
  holder: null,
  epoch: 0,
  attempt: 0,
  failures: 0,
  generation: 1,
  activeKey: null,
  supersededBy: null,
  replayedAt: null,
  errorCode: null,
};

/** Five starts in a second, and one run of a source at a time. */
const DECLARED: Limits = {
  pack: null,
  namespace: { rate: { count: 5, perMs: 1_000, burst: 5 }, concurrency: null },
  source: { rate: null, concurrency: 1 },
};

/** A world of rows only; every call is a commit of its own. */
export class Rows {
  readonly world = new World(1);
  readonly ledger = new Ledger();
  readonly hardships = new Hardships(this.world);
  /** The pack. */
  paused = false;
  shownBefore = Number.NEGATIVE_INFINITY;
  readonly limitRules = new LimitRules(DECLARED, () => Number.NEGATIVE_INFINITY);
  readonly #audit = new RowAudit(this.world, {
    ledger: this.ledger,
    retry: () => ({ baseMs: 100, maxMs: 1_000 }),
    holdsConflicts: () => true,
    processingBudget: 2,
    limits: this.limitRules,
    leaseMs: LEASE_MS,
    abandonMs: LEASE_MS,
    hardships: this.hardships,
    databaseNow: () => 0,
    beganAt: () => 0,
    shownBefore: () => this.shownBefore,
    jumpedAt: () => Number.NEGATIVE_INFINITY,
    calmSince: () => Number.NEGATIVE_INFINITY,
    isPaused: () => this.paused,
    now: () => this.world.now,
  });
  readonly #states = new Map<string, ItemState>();
  #ordinal = 0;

  get kinds(): readonly string[] {
    return this.world.violations.map(({ kind }) => kind);
  }

  commit(...notes: readonly RowNote[]): void {
    this.#audit.committed(notes);
  }

  add(
    name: string,
    identity: Partial<ItemIdentity> = {},
    state: Partial<ItemState> = {},
    conflict = false,
  ): void {
    const whole: ItemIdentity = {
      workId: name,
      packId: 1,
      eventId: `e-${name}`,
      queueClass: 'default',
      route: 'source',
      routeVersion: 1,
      budget: BUDGET,
      onDead: 'advance',
      sourceLane: 'lane',
      deliveryLane: null,
      targetLane: null,
      ordinal: ++this.#ordinal,
      deliveryOrdinal: 0,
      projection: null,
      ...identity,
    };
    this.#states.set(name, { ...NEW, ...state });
    const owner = 'event/pending';
    const event = {
      eventId: whole.eventId,
      receiptId: `r-${name}`,
      item: name,
      source: whole.sourceLane ?? name,
      parentId: null,
      owner,
      conflict,
    };
    this.commit(
      { kind: 'event in', ...event },
      { kind: 'item in', at: 0, identity: whole, state: { ...NEW, ...state } },
    );
  }

  note(name: string, changes: Partial<ItemState>, at = 0): RowNote {
    const state = { ...this.#states.get(name)!, ...changes };
    this.#states.set(name, state);
    return { kind: 'item', workId: name, at, state };
  }

  change(name: string, changes: Partial<ItemState>, at = 0): void {
    this.commit(this.note(name, changes, at));
  }

  claim(name: string, changes: Partial<ItemState> = {}, at = 0): void {
    const { epoch, attempt } = this.#states.get(name)!;
    const lease = {
      token: `t${epoch + 1}`,
      holder: 'p',
      leaseUntil: at + LEASE_MS,
      epoch: epoch + 1,
      attempt: attempt + 1,
    };
    const note = this.note(name, { state: 'processing', readiness: 0, ...lease, ...changes }, at);
    this.commit(note, { kind: 'event', eventId: `e-${name}`, owner: 'work_item/skipped' });
  }

  /** A flow ran under the current claim and ended so; its process asks for `outcome`. */
  ran(name: string, how: FlowRun['how'], outcome: Parameters<Ledger['meant']>[1]): FlowRun {
    const run = this.ledger.started(
      { item: name, epoch: this.#states.get(name)!.epoch, process: 'p' },
      new AbortController().signal,
      new Thread('p'),
    );
    if (how !== null) this.ledger.ended(run, how);
    this.ledger.meant(this.lease(name), outcome);
    return run;
  }

  lease(name: string): Lease {
    const { epoch, token } = this.#states.get(name)!;
    return { workId: name, epoch, token: token!, untilMs: 0 };
  }

  end(name: string, state: string, changes: Partial<ItemState> = {}, at = 0): void {
    this.change(name, { state, leaseUntil: null, activeKey: null, ...changes }, at);
  }

  fail(name: string, changes: Partial<ItemState> = {}): void {
    this.ran(name, 'threw', 'failed');
    const failures = this.#states.get(name)!.failures + 1;
    const runAfter = 75 * 2 ** (failures - 1);
    this.end(name, 'pending', { failures, runAfter, readiness: 1, errorCode: 'flow_error', ...changes });
  }
}

export function kindsOf(act: (rows: Rows) => void): readonly string[] {
  const rows = new Rows();
  act(rows);
  return rows.kinds;
}

export const claimed = (rows: Rows): void => {
  rows.add('a');
  rows.claim('a');
};
