/** The rules about rows, on commits made by hand: a good life of an item, and one for each way to break a rule. */
import { describe, expect, test } from 'vitest';
import type { Lease } from '../../src/core/work.js';
import type { FlowRun } from './ledger.js';
import { Ledger } from './ledger.js';
import { RowAudit } from './row-audit.js';
import type { ItemIdentity, ItemState, RowNote } from './row-notes.js';
import { Thread, World } from './world.js';

const LEASE_MS = 1_000;
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
  errorCode: null,
};

/** A world of rows only; every call is a commit of its own. */
class Rows {
  readonly world = new World(1);
  readonly ledger = new Ledger();
  readonly #audit = new RowAudit(this.world, {
    ledger: this.ledger,
    retry: () => ({ baseMs: 100, maxMs: 1_000 }),
    holdsConflicts: () => true,
    processingBudget: 2,
    leaseMs: LEASE_MS,
    jumpedAt: () => Number.NEGATIVE_INFINITY,
    calmSince: () => Number.NEGATIVE_INFINITY,
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
    const event = { eventId: whole.eventId, receiptId: `r-${name}`, item: name, owner, conflict };
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

function kindsOf(act: (rows: Rows) => void): readonly string[] {
  const rows = new Rows();
  act(rows);
  return rows.kinds;
}

const claimed = (rows: Rows): void => {
  rows.add('a');
  rows.claim('a');
};

describe('rows', () => {
  test('that do what they should break no rule', () => {
    expect(
      kindsOf((rows) => {
        claimed(rows);
        rows.add('b', {}, { readiness: 0 });
        rows.fail('a');
        rows.claim('a', {}, 100);
        rows.ledger.renews(rows.lease('a'));
        rows.change('a', { leaseUntil: 300 + LEASE_MS }, 300);
        rows.ran('a', 'finished', 'completed');
        const head = rows.note('b', { readiness: 2 });
        rows.commit(rows.note('a', { state: 'completed', leaseUntil: null }), head);
        rows.claim('b');
        rows.ledger.meant(rows.lease('b'), 'released');
        rows.end('b', 'pending', { readiness: 2 });
      }),
    ).toEqual([]);
  });

  test.each<readonly [string, string, (rows: Rows) => void]>([
    [
      'a claim behind an open item',
      'lane_order',
      (rows) => {
        rows.add('a');
        rows.add('b');
        rows.claim('b');
      },
    ],
    [
      'a claim before its time',
      'premature',
      (rows) => {
        rows.add('a', {}, { runAfter: 50, readiness: 1 });
        rows.claim('a');
      },
    ],
    [
      'a claim that keeps the epoch',
      'stale_epoch',
      (rows) => {
        rows.add('a');
        rows.claim('a', { epoch: 0 });
      },
    ],
    [
      'a claim without a fresh token',
      'stale_token',
      (rows) => {
        claimed(rows);
        rows.fail('a');
        rows.claim('a', { token: 't1' }, 100);
      },
    ],
    [
      'a claim of a queued generation',
      'projection',
      (rows) => {
        rows.add('a', { projection: 'p' }, { activeKey: 'p' });
        rows.add('b', { projection: 'p', sourceLane: null });
        rows.claim('b');
      },
    ],
    [
      'a claim without the Event',
      'owner',
      (rows) => {
        rows.add('a');
        const lease = { token: 't1', leaseUntil: LEASE_MS, epoch: 1, attempt: 1 };
        rows.change('a', { state: 'processing', ...lease });
      },
    ],
    [
      'more rows in processing than the budget',
      'processing_budget',
      (rows) => {
        for (const name of ['a', 'b', 'c']) rows.add(name, { sourceLane: name });
        for (const name of ['a', 'b', 'c']) rows.claim(name);
      },
    ],
    [
      'a renewal by nobody',
      'stale_token',
      (rows) => {
        claimed(rows);
        rows.change('a', { leaseUntil: 10 + LEASE_MS }, 10);
      },
    ],
    [
      'an end that no holder asked for',
      'stale_token',
      (rows) => {
        claimed(rows);
        rows.end('a', 'completed');
      },
    ],
    [
      'a completion of a run that threw',
      'wrong_outcome',
      (rows) => {
        claimed(rows);
        rows.ran('a', 'threw', 'completed');
        rows.end('a', 'completed');
      },
    ],
    [
      'a release of a run that threw',
      'wrong_outcome',
      (rows) => {
        claimed(rows);
        rows.ran('a', 'threw', 'released');
        rows.end('a', 'pending', { readiness: 2 });
      },
    ],
    [
      'a failure of what never ran',
      'wrong_outcome',
      (rows) => {
        claimed(rows);
        rows.ledger.meant(rows.lease('a'), 'failed');
        rows.end('a', 'pending', { failures: 1, runAfter: 75, readiness: 1 });
      },
    ],
    [
      'dead by its word though its route holds',
      'wrong_outcome',
      (rows) => {
        rows.add('a', { onDead: 'hold' });
        rows.claim('a');
        rows.ran('a', 'dead', 'dead');
        rows.end('a', 'dead');
      },
    ],
    [
      'a failure that is not counted',
      'stale_token',
      (rows) => {
        claimed(rows);
        rows.fail('a', { failures: 0 });
      },
    ],
    [
      'a failure that counts twice',
      'failure_count',
      (rows) => {
        claimed(rows);
        rows.fail('a', { failures: 2 });
      },
    ],
    [
      'an end before the budget is spent',
      'failure_count',
      (rows) => {
        claimed(rows);
        rows.fail('a', { state: 'dead' });
      },
    ],
    [
      'a retry at once',
      'backoff',
      (rows) => {
        claimed(rows);
        rows.fail('a', { runAfter: 0 });
      },
    ],
    [
      'a lease taken before its end',
      'stolen_lease',
      (rows) => {
        claimed(rows);
        rows.end('a', 'pending', { failures: 1, errorCode: 'lease_expired', readiness: 2 }, 999);
      },
    ],
    [
      'a run beyond the end of its lease',
      'acting_past_lease',
      (rows) => {
        claimed(rows);
        rows.ran('a', null, 'completed');
        rows.end('a', 'pending', { failures: 1, errorCode: 'lease_expired', readiness: 2 }, LEASE_MS + 1);
      },
    ],
    [
      'a terminal row that moves',
      'illegal_transition',
      (rows) => {
        claimed(rows);
        rows.ran('a', 'finished', 'completed');
        rows.end('a', 'completed');
        rows.change('a', { state: 'pending' });
      },
    ],
    [
      'an ordinal that does not rise',
      'ordinal',
      (rows) => {
        rows.add('a', { ordinal: 5 });
        rows.add('b', { ordinal: 5, sourceLane: 'other' });
      },
    ],
    ['a conflict that runs', 'wrong_outcome', (rows) => rows.add('a', {}, {}, true)],
    ['a head without its mark', 'lost_mark', (rows) => rows.add('a', {}, { readiness: 0 })],
    [
      'two active generations',
      'projection',
      (rows) => {
        rows.add('a', { projection: 'p' }, { activeKey: 'p' });
        rows.add('b', { projection: 'p' }, { activeKey: 'p' });
      },
    ],
    [
      'two queued generations',
      'projection',
      (rows) => {
        rows.add('a', { projection: 'p' }, { activeKey: 'p' });
        rows.add('b', { projection: 'p' });
        rows.add('c', { projection: 'p' });
      },
    ],
    [
      'a queued generation that nobody activates',
      'projection',
      (rows) => {
        rows.add('a', { projection: 'p' }, { activeKey: 'p' });
        rows.add('b', { projection: 'p' });
        rows.claim('a');
        rows.ran('a', 'finished', 'completed');
        rows.end('a', 'completed');
      },
    ],
    [
      'an Event that comes back',
      'owner',
      (rows) => {
        claimed(rows);
        rows.commit({ kind: 'event', eventId: 'e-a', owner: 'event/pending' });
      },
    ],
    [
      'a column that must not change',
      'mutated',
      (rows) => {
        rows.add('a');
        rows.commit({ kind: 'mutated', table: 'WorkItem', id: 'a' });
      },
    ],
  ])('%s is seen', (_, kind, act) => {
    expect(kindsOf(act)).toContain(kind);
  });
});
