/**
 * How many items ended, kept as they end: counting them would cost what is stored. Every verb that ends items, or
 * removes ended ones, says so here, last of all in its transaction (lock order), so that the tally commits with them.
 */
import type { WorkItemState } from '../../core/work.js';
import { DuplicateKey } from '../driver.js';
import { type Param, type Plan, write } from '../plan.js';
import * as sql from '../statements/tally.js';

export interface Ending {
  readonly workId: string;
  readonly packId: number;
  readonly queueClass: string;
  readonly state: WorkItemState;
}

/** A row as it was locked, and how it ended. */
export const endingOf = (
  row: { readonly WorkId: string; readonly PackId: number; readonly QueueClass: string },
  state: WorkItemState,
): Ending => ({ workId: row.WorkId, packId: row.PackId, queueClass: row.QueueClass, state });

/** Several rows for each count: finalizers of one pack would wait for each other's commits on a single one. */
const SLOTS = 8;

/** @param by 1: these items ended. -1: they had ended, and are removed. */
export function* noteEnded(endings: readonly Ending[], by: 1 | -1 = 1): Plan<void> {
  if (endings.length === 0) return;
  const slot = slotOf(endings[0]!);
  const counts = new Map<string, { where: readonly Param[]; total: number }>();
  for (const { packId, queueClass, state } of endings) {
    const key = `${packId} ${queueClass} ${state}`;
    const count = counts.get(key) ?? { where: [packId, queueClass, state, slot], total: 0 };
    counts.set(key, count);
    count.total += by;
  }
  for (const key of [...counts.keys()].sort()) yield* add(counts.get(key)!.where, counts.get(key)!.total);
}

function* add(where: readonly Param[], total: number): Plan<void> {
  if ((yield* write(sql.addToTally, [total, ...where])) > 0) return;
  try {
    yield* write(sql.insertTally, [...where, total]);
  } catch (error) {
    if (!(error instanceof DuplicateKey)) throw error;
    yield* write(sql.addToTally, [total, ...where]);
  }
}

/** By the last character of an id, which is random. */
const slotOf = ({ workId }: Ending): number => workId.charCodeAt(workId.length - 1) % SLOTS;
