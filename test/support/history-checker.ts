/**
 * Judges a history from outside: what senders sent and were answered, what runs wrote down of themselves, and what
 * the database wrote down of its rows. Pure: the same history always has the same violations.
 *
 *   sent, stored   nothing acknowledged is lost, nothing else is stored, every answer names the first receipt
 *   runs           a lane starts in order and one at a time; nothing runs again without a cause
 *   transitions    one item of a lane in processing, no lease taken before its end, one completion each
 */
import type { History, SentItem, StoredItem, Violation } from './history.js';
import { runViolations } from './history-runs.js';
import { expiredLeases, transitionViolations } from './history-transitions.js';

/** Every breach of the promise that this history shows; none is what one hopes for. */
export function checkHistory(history: History): readonly Violation[] {
  const { sent, stored, runs, transitions } = history;
  const items = new Map(sent.map((one) => [one.item, one]));
  return [
    ...lostItems(sent, stored),
    ...unexpectedItems(items, stored),
    ...receiptChanges(items, stored),
    ...runViolations(items, stored, runs, expiredLeases(transitions)),
    ...transitionViolations(items, runs, transitions),
  ];
}

function lostItems(sent: readonly SentItem[], stored: readonly StoredItem[]): Violation[] {
  const states = new Map(stored.map(({ item, state }) => [item, state]));
  return sent
    .filter(({ item, receipts, ends = ['completed'] }) => {
      return receipts.length > 0 && !ends.includes(states.get(item) ?? '');
    })
    .map(({ item }) => ({
      kind: 'lost',
      item,
      why: `acknowledged, and ${states.get(item) ?? 'not stored'}`,
    }));
}

function unexpectedItems(
  items: ReadonlyMap<string, SentItem>,
  stored: readonly StoredItem[],
): readonly Violation[] {
  const seen = new Set<string>();
  return stored.flatMap(({ item }): Violation[] => {
    const twice = seen.has(item);
    seen.add(item);
    if (twice) return [{ kind: 'unexpected', item, why: 'stored twice' }];
    return items.has(item) ? [] : [{ kind: 'unexpected', item, why: 'stored, and nobody sent it' }];
  });
}

function receiptChanges(
  items: ReadonlyMap<string, SentItem>,
  stored: readonly StoredItem[],
): readonly Violation[] {
  return stored.flatMap(({ item, receipt }): Violation[] => {
    const answers = new Set(items.get(item)?.receipts);
    if (answers.size === 0 || (answers.size === 1 && answers.has(receipt ?? ''))) return [];
    const why = `answered with ${[...answers].join(', ')}, stored under ${receipt}`;
    return [{ kind: 'receipt_changed', item, why }];
  });
}
