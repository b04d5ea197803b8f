import { describe, expect, test } from 'vitest';
import { OrderLedger } from '../../scripts/demo/order-ledger.js';

/** A ledger of one source to which a, b and c were sent. */
function ledgerOf(source = 'repository'): { ledger: OrderLedger; run: (id: string) => void } {
  const ledger = new OrderLedger();
  for (const id of ['a', 'b', 'c']) ledger.sent(source, id);
  return { ledger, run: (id) => ledger.started(source, id)() };
}

describe("the demo's ledger", () => {
  test('finds nothing wrong with the order of sending, retries in place and sources that interleave', () => {
    const { ledger, run } = ledgerOf();
    ledger.sent('another', 'x');
    const end = ledger.started('another', 'x');
    for (const id of ['a', 'b', 'b', 'c']) run(id);
    end();
    expect([ledger.violations, ledger.starts]).toEqual([0, 5]);
  });

  test.each([
    ['a start before an earlier one', ['b']],
    ['a start left out', ['a', 'c']],
    ['a start again after a later one', ['a', 'b', 'a']],
    ['a start of what was never sent', ['nothing']],
  ])('counts %s', (_what, ids) => {
    const { ledger, run } = ledgerOf();
    for (const id of ids) run(id);
    expect(ledger.violations).toBe(1);
  });

  test('counts a start beside another one of its source', () => {
    const { ledger } = ledgerOf();
    ledger.started('repository', 'a');
    ledger.started('repository', 'b');
    expect(ledger.violations).toBe(1);
  });
});
