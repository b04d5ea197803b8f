/** The rules about rows, on commits made by hand: a good life of an item, and one for each way to break a rule. */
import { describe, expect, test } from 'vitest';
import { claimed, kindsOf, LEASE_MS, type Rows } from './rows-by-hand.js';

const held = (rows: Rows): void => {
  rows.add('a', { onDead: 'hold', budget: 1 });
  rows.claim('a');
  rows.fail('a', { state: 'held', readiness: 0, runAfter: 0 });
};

const expire = (rows: Rows): void =>
  rows.end('a', 'pending', { failures: 1, errorCode: 'lease_expired', readiness: 2 }, LEASE_MS + 1);

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
    expect(
      kindsOf((rows) => {
        held(rows);
        rows.ledger.acting = { actionId: 'act', kind: 'retry' };
        rows.change('a', { state: 'pending', readiness: 2, failures: 0 });
        rows.claim('a');
      }),
    ).toEqual([]);
  });

  test.each<readonly [string, (rows: Rows) => void]>([
    ['it stood still', (rows) => rows.hardships.stands('p', 600)],
    ['a statement took long', (rows) => rows.hardships.statements.lasts('p', 600)],
    ['it was killed', (rows) => rows.ledger.gone('p', 'killed')],
  ])('may run out of a lease when %s', (_, excuse) => {
    expect(
      kindsOf((rows) => {
        claimed(rows);
        excuse(rows);
        expire(rows);
      }),
    ).toEqual([]);
  });

  test('may run out of a lease by a clock that is set back before the commit', () => {
    const takenAt = (shownBefore: number): readonly string[] =>
      kindsOf((rows) => {
        claimed(rows);
        rows.ledger.gone('p', 'killed');
        rows.shownBefore = shownBefore;
        rows.end('a', 'pending', { failures: 1, errorCode: 'lease_expired', readiness: 2 }, 100);
      });
    expect(takenAt(LEASE_MS + 1)).toEqual([]);
    expect(takenAt(LEASE_MS)).toContain('stolen_lease');
  });

  test.each<readonly [string, string, (rows: Rows) => void]>([
    [
      'a claim while the pack is paused',
      'out_of_service',
      (rows) => {
        rows.add('a');
        rows.paused = true;
        rows.claim('a');
      },
    ],
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
      'a lease that runs out in the hands of who is well',
      'needless_expiry',
      (rows) => {
        claimed(rows);
        expire(rows);
      },
    ],
    [
      'a lease that runs out while its outcome is reported again and again',
      'needless_expiry',
      (rows) => {
        claimed(rows);
        rows.ran('a', 'finished', 'completed');
        rows.hardships.statements.fails('p');
        expire(rows);
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
      'a generation superseded by an older one',
      'projection',
      (rows) => {
        rows.add('a', { projection: 'p' }, { activeKey: 'p' });
        rows.add('b', { projection: 'p' }, { state: 'coalesced', supersededBy: 'a' });
      },
    ],
    [
      'a held row that moves though nobody decided',
      'wrong_outcome',
      (rows) => {
        held(rows);
        rows.end('a', 'skipped');
      },
    ],
    [
      'a decision that ends otherwise',
      'wrong_outcome',
      (rows) => {
        held(rows);
        rows.ledger.acting = { actionId: 'act', kind: 'skip' };
        rows.end('a', 'dead');
      },
    ],
    [
      'a held row that is retried on what is left of its budget',
      'wrong_outcome',
      (rows) => {
        held(rows);
        rows.ledger.acting = { actionId: 'act', kind: 'retry' };
        rows.change('a', { state: 'pending', readiness: 2 });
      },
    ],
    [
      'a row that is counted while it is held',
      'illegal_transition',
      (rows) => {
        held(rows);
        rows.change('a', { failures: 0 });
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
