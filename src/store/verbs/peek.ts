import { type Plan, read } from '../plan.js';
import * as sql from '../statements/claim.js';
import type { ClaimScope, PeekResult } from '../store.js';
import { eligibleClasses, normalizedTypes } from './claim-scope.js';

interface PeekRow {
  readonly Now: number;
  readonly DueAt: number | null;
  readonly LeaseEnd: number | null;
  readonly Interactive: number | null;
  readonly Standard: number | null;
  readonly Bulk: number | null;
  /** When what waits for the limit of its source may get its turn. */
  readonly LimitDue: number | null;
}

export function* peek(scope: ClaimScope): Plan<PeekResult> {
  let ready = false;
  let nextInMs: number | null = null;
  const classes = eligibleClasses(scope);
  for (const workType of normalizedTypes(scope)) {
    const pair = [scope.packId, workType];
    const [row] = yield* read<PeekRow>(sql.peekBuckets, [
      ...pair,
      ...pair,
      ...pair,
      ...pair,
      ...pair,
      scope.packId,
    ]);
    if (row === undefined) continue;
    const heads = { interactive: row.Interactive, default: row.Standard, bulk: row.Bulk };
    const staleAt = row.LeaseEnd === null ? null : row.LeaseEnd + 1;
    const waits = [row.DueAt, row.LimitDue, staleAt].filter((at) => at !== null);
    ready ||= classes.some((name) => heads[name] !== null) || waits.some((at) => at <= row.Now);
    for (const at of waits) {
      const inMs = Math.max(0, at - row.Now);
      nextInMs = nextInMs === null ? inMs : Math.min(nextInMs, inMs);
    }
  }
  return { ready, nextInMs };
}
