/** The judge of all crash tests, on histories made by hand: a good one, and one for each way to break a promise. */
import { describe, expect, test } from 'vitest';
import type { History, RunRecord, SentItem, StoredItem, Transition } from '../support/history.js';
import { checkHistory } from '../support/history-checker.js';

const sent = (item: string, sequence: number, receipts = [`r-${item}`]): SentItem => {
  return { item, lane: item.charAt(0), sequence, receipts };
};
const stored = (item: string, state = 'completed', receipt = `r-${item}`): StoredItem => {
  return { item, receipt, state };
};
const started = (item: string, epoch = 1, process = 'p'): RunRecord => {
  return { kind: 'started', item, epoch, process };
};
const finished = (item: string, epoch = 1, process = 'p'): RunRecord => {
  return { kind: 'ended', how: 'finished', item, epoch, process };
};
const aborted = (item: string, epoch = 1, process = 'p'): RunRecord => {
  return { kind: 'ended', how: 'aborted', item, epoch, process };
};
const gone = (process: string, how: 'killed' | 'stopped' = 'killed'): RunRecord => {
  return { kind: 'gone', process, how };
};
const row = (item: string, from: string, to: string, changes: Partial<Transition> = {}): Transition => {
  return { item, from, to, epoch: 1, at: 1_000, leaseUntil: null, failure: null, ...changes };
};
const claimed = (item: string, epoch = 1) => row(item, 'pending', 'processing', { epoch });
const completed = (item: string, epoch = 1) => row(item, 'processing', 'completed', { epoch });
const expired = (item: string, epoch = 1, at = 5_001) =>
  row(item, 'processing', 'pending', { epoch, at, leaseUntil: 5_000, failure: 'lease_expired' });

/** Two items of one lane and one of another, each run once. */
const GOOD: History = {
  sent: [sent('a1', 1), sent('a2', 2), sent('b1', 1)],
  stored: [stored('a1'), stored('a2'), stored('b1')],
  runs: [started('a1'), started('b1'), finished('a1'), started('a2'), finished('b1'), finished('a2')],
  transitions: [
    claimed('a1'),
    claimed('b1'),
    completed('a1'),
    claimed('a2'),
    completed('b1'),
    completed('a2'),
  ],
};

const violations = (changes: Partial<History>): string[] =>
  checkHistory({ ...GOOD, ...changes }).map(({ kind, item }) => `${kind} ${item}`);

describe('a good history', () => {
  test('has no violations', () => {
    expect(violations({})).toEqual([]);
    expect(violations({ sent: [], stored: [], runs: [], transitions: [] })).toEqual([]);
  });

  test('may repeat a run that a kill cut off, or whose report a kill cut off', () => {
    const cut = [started('a1'), gone('p'), started('a1', 2, 'q'), finished('a1', 2, 'q')];
    const transitions = [claimed('a1'), expired('a1'), claimed('a1', 2), completed('a1', 2)];
    const one = { sent: [sent('a1', 1)], stored: [stored('a1')], transitions };
    expect(violations({ ...one, runs: cut })).toEqual([]);
    expect(violations({ ...one, runs: [cut[0]!, finished('a1'), ...cut.slice(1)] })).toEqual([]);
  });

  test('may repeat a run that was aborted, and one whose lease ran out while it went on', () => {
    const one = { sent: [sent('a1', 1)], stored: [stored('a1')] };
    const released = [
      claimed('a1'),
      row('a1', 'processing', 'pending'),
      claimed('a1', 2),
      completed('a1', 2),
    ];
    const again = [started('a1', 2, 'q'), finished('a1', 2, 'q')];
    expect(
      violations({ ...one, runs: [started('a1'), aborted('a1'), ...again], transitions: released }),
    ).toEqual([]);
    const overtaken = [claimed('a1'), expired('a1'), claimed('a1', 2), completed('a1', 2)];
    expect(
      violations({ ...one, runs: [started('a1'), ...again, finished('a1')], transitions: overtaken }),
    ).toEqual([]);
  });

  test('may lack what was never acknowledged, and may go past what ended without a run', () => {
    const never = sent('b2', 2, []);
    expect(violations({ sent: [...GOOD.sent, never] })).toEqual([]);
    const skippedOver = {
      sent: [sent('a1', 1, []), sent('a2', 2)],
      stored: [stored('a1', 'dead'), stored('a2')],
      runs: [started('a2'), finished('a2')],
      transitions: [row('a1', 'pending', 'dead', { epoch: 0 }), claimed('a2'), completed('a2')],
    };
    expect(violations(skippedOver)).toEqual([]);
  });
});

describe('what is stored', () => {
  test('an acknowledged event that is not stored, or not completed, is lost', () => {
    expect(violations({ stored: GOOD.stored.slice(0, 2) })).toEqual(['lost b1']);
    expect(violations({ stored: [stored('a1'), stored('a2'), stored('b1', 'pending')] })).toEqual([
      'lost b1',
    ]);
  });

  test('what nobody sent is unexpected, stored, stored twice or run', () => {
    expect(violations({ stored: [...GOOD.stored, stored('c1')] })).toEqual(['unexpected c1']);
    expect(violations({ stored: [...GOOD.stored, stored('b1')] })).toEqual(['unexpected b1']);
    expect(violations({ runs: [...GOOD.runs, started('c1')] })).toEqual(['unexpected c1']);
  });

  test('a duplicate answered with another receipt is seen, and so is a receipt that is not the stored one', () => {
    const twoReceipts = [...GOOD.sent.slice(0, 2), sent('b1', 1, ['r-b1', 'r-other'])];
    expect(violations({ sent: twoReceipts })).toEqual(['receipt_changed b1']);
    const otherReceipt = [...GOOD.stored.slice(0, 2), stored('b1', 'completed', 'r-other')];
    expect(violations({ stored: otherReceipt })).toEqual(['receipt_changed b1']);
  });
});

describe('what ran', () => {
  test('a later item that starts before the earlier one finished is an inversion', () => {
    const runs = [started('a2'), finished('a2'), started('a1'), finished('a1')];
    expect(
      violations({ runs: [...runs, ...GOOD.runs.filter((one) => 'item' in one && one.item === 'b1')] }),
    ).toEqual(['inversion a2', 'inversion a1']);
    const cutOff = [started('a1'), gone('p'), started('a2', 1, 'q'), finished('a2', 1, 'q')];
    expect(violations({ runs: [...cutOff, started('a1', 2, 'q'), finished('a1', 2, 'q')] })).toContain(
      'inversion a2',
    );
  });

  test('an earlier item that runs again after a later one started is an inversion', () => {
    const runs = [...GOOD.runs, gone('p'), started('a1', 2, 'q')];
    expect(violations({ runs })).toEqual(['inversion a1']);
  });

  test('two runs of a lane at once overlap, of two items or of one', () => {
    const twoItems = [started('a1'), started('a2', 1, 'q'), finished('a1'), finished('a2', 1, 'q')];
    expect(violations({ runs: [...twoItems, started('b1'), finished('b1')] })).toContain('overlap a2');
    const oneItem = [started('a1'), started('a1', 2, 'q'), finished('a1', 2, 'q'), ...GOOD.runs.slice(1)];
    expect(violations({ runs: oneItem })).toEqual(['overlap a1']);
  });

  test('a lease that ran out excuses the takeover of its item, not of its lane', () => {
    const transitions = [claimed('a1'), expired('a1'), claimed('a1', 2), completed('a1', 2)];
    const one = { sent: [sent('a1', 1), sent('a2', 2, [])], stored: [stored('a1')], transitions };
    const runs = [started('a1'), started('a2', 1, 'q'), started('a1', 2, 'q'), finished('a1', 2, 'q')];
    expect(violations({ ...one, runs })).toContain('overlap a2');
  });

  test('a finished run is repeated only after a kill, not after a graceful stop', () => {
    const again = [started('b1', 2, 'q'), finished('b1', 2, 'q')];
    expect(violations({ runs: [...GOOD.runs, ...again] })).toEqual(['rerun b1']);
    expect(violations({ runs: [...GOOD.runs, gone('p', 'stopped'), ...again] })).toEqual(['rerun b1']);
    expect(violations({ runs: [...GOOD.runs, gone('p'), ...again] })).toEqual([]);
  });
});

describe('what the rows say', () => {
  const rows = (...more: Transition[]) => violations({ transitions: [...GOOD.transitions, ...more] });

  test('a second completion and a terminal row that moves are seen', () => {
    expect(rows(completed('b1'))).toEqual(['double_completion b1']);
    expect(rows(row('b1', 'completed', 'completed'))).toEqual(['double_completion b1']);
    expect(rows(row('b1', 'completed', 'pending'))).toEqual(['revived b1']);
  });

  test('two items of a lane in processing overlap', () => {
    expect(
      violations({ transitions: [claimed('a1'), claimed('a2'), completed('a1'), completed('a2')] }),
    ).toEqual(['overlap a2']);
  });

  test('a lease taken before its end is stolen', () => {
    const taken = [claimed('a1'), expired('a1', 1, 5_000), claimed('a1', 2)];
    expect(violations({ transitions: taken })).toEqual(['stolen_lease a1']);
  });

  test('a claim that does not raise the epoch, and anything else that does, are seen', () => {
    const released = row('a1', 'processing', 'pending');
    expect(violations({ transitions: [claimed('a1'), released, claimed('a1')] })).toEqual(['stale_epoch a1']);
    expect(violations({ transitions: [claimed('a1'), { ...released, epoch: 2 }] })).toEqual([
      'stale_epoch a1',
    ]);
  });

  test('a completion under an epoch in which no run finished is seen', () => {
    expect(violations({ transitions: [claimed('a1', 3), completed('a1', 3)] })).toEqual([
      'completed_unrun a1',
    ]);
  });
});
