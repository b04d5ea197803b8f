/**
 *   held ──retry──▶ pending, due now, with its whole budget again
 *        ──skip───▶ skipped ┐ its projection hands off and its lanes go on, in the same transaction
 *        ──end────▶ dead    ┘
 *
 * The one way out of `held`: a person decides. The item's Event was fenced by the claim that led here.
 */
import { type Plan, read, write } from '../plan.js';
import * as sql from '../statements/finalize.js';
import type { HeldDecision, HeldResult } from '../store.js';
import { leaveLanes, lockRows } from './finalize.js';
import { endingOf, noteEnded } from './tally.js';

const ENDS = { skip: 'skipped', end: 'dead' } as const;

/** Decides on the held items of one Event; none are held: nothing happens. */
export function* decideHeld(eventId: string, decision: HeldDecision): Plan<readonly HeldResult[]> {
  const found = yield* read<{ WorkId: string }>(sql.heldOfEvent, [eventId]);
  const rows = yield* lockRows(found.map((row) => row.WorkId));
  const held = [...rows.values()].filter((row) => row.State === 'held');
  for (const row of held) {
    if (decision === 'retry') yield* write(sql.retryHeld, [row.WorkId]);
    else yield* write(sql.endHeld, [ENDS[decision], row.WorkId]);
  }
  yield* decision === 'retry' ? leaveLanes([], held) : leaveLanes(held);
  const state = decision === 'retry' ? 'pending' : ENDS[decision];
  if (state !== 'pending') yield* noteEnded(held.map((row) => endingOf(row, state)));
  return held.map((row) => ({ workId: row.WorkId, state }));
}
