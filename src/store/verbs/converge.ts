import { Contention, DuplicateKey } from '../driver.js';
import { type Param, type Plan, write } from '../plan.js';
import type { Statement } from '../statement.js';
import { insertShape } from './batches.js';

/** How to put rows of one table in, and how to find who was there first. */
export interface Insertion<T, Existing> {
  readonly statement: Statement;
  readonly row: (item: T) => readonly Param[];
  /** A *current* read (locking) of whatever holds these items' unique keys now. */
  readonly current: (items: readonly T[]) => Plan<Map<T, Existing>>;
}

/**
 * MAT-3, MAT-5: inserts rows, and where a unique key refuses some, finds the winners by a current read and puts in
 * the rest. Bounded: one current bulk read, one insert of the rest, then row by row. A plain read would not do: inside
 * a snapshot older than the winner's commit it sees nobody, although the key refuses (MAT-2).
 * @returns the winners of the items that were not inserted.
 */
export function* insertConverging<T, Existing>(
  insertion: Insertion<T, Existing>,
  items: readonly T[],
): Plan<Map<T, Existing>> {
  const refused = yield* insertUntilRefused(insertion, items);
  if (refused.length === 0) return new Map();
  const winners = yield* insertion.current(refused);
  const again = yield* insertUntilRefused(
    insertion,
    refused.filter((item) => !winners.has(item)),
  );
  for (const item of again) {
    const stillRefused = yield* insertUntilRefused(insertion, [item]);
    if (stillRefused.length === 0) continue;
    const winner = (yield* insertion.current([item])).get(item);
    // Refused by a key that nobody holds now: its holder is coming or going. The whole transaction starts again.
    if (winner === undefined)
      throw new Contention(`${insertion.statement.name}: the winner is not visible yet`);
    winners.set(item, winner);
  }
  return winners;
}

/** Inserts in whole shapes; returns the items from the first refused shape on. A refused statement inserts nothing. */
function* insertUntilRefused<T>(insertion: Insertion<T, unknown>, items: readonly T[]): Plan<readonly T[]> {
  const rows = items.map(insertion.row);
  for (let at = 0; at < items.length; ) {
    const size = insertShape(insertion.statement, rows, at);
    try {
      yield* write(insertion.statement, rows.slice(at, at + size).flat(), size);
    } catch (error) {
      if (!(error instanceof DuplicateKey)) throw error;
      return items.slice(at);
    }
    at += size;
  }
  return [];
}
