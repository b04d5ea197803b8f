import { type Plan, read } from '../plan.js';
import * as sql from '../statements/claim.js';
import { ids, readList } from './batches.js';
import { threeClasses } from './claim-scope.js';
import { attempt, type Claiming, progressOf } from './claim-swap.js';
import { failWorkItem, leaveLanes, lockRows } from './finalize.js';
import { takeoversLeft } from './shared-limits.js';
import { withinLimits } from './source-limits.js';

const LEASE_EXPIRED = {
  code: 'lease_expired',
  message: 'the holder stopped renewing its lease while the item ran',
};

/**
 * Takes over expired leases: each is a failure (its run may have killed the process), and what has budget left is
 * claimed again at once, so the number of rows in processing does not rise.
 */
export function* reclaim(claiming: Claiming): Plan<void> {
  if (claiming.stale === 0) return;
  const { request, workTypes } = claiming;
  const stale: sql.CandidateRow[] = [];
  for (const workType of workTypes) {
    const params = [request.packId, workType, ...threeClasses(request)];
    stale.push(...(yield* read<sql.CandidateRow>(sql.scanStale, params)));
  }
  const room = Math.min(
    request.maxClaims - claiming.items.length,
    takeoversLeft(claiming.shared, progressOf(claiming)),
  );
  const { sources } = claiming;
  const startable = sources === null ? stale : yield* withinLimits(sources, stale, true);
  const chosen = startable.slice(0, room);
  if (chosen.length === 0) return;
  // Events before WorkItems, as everywhere: the claim below locks both again.
  yield* readList(sql.lockEventOwners, ids([...new Set(chosen.map((row) => row.EventId))].sort()));
  const rows = yield* lockRows(chosen.map((row) => row.WorkId));
  const again: sql.CandidateRow[] = [];
  const ended: sql.ItemRow[] = [];
  const stopped: sql.ItemRow[] = [];
  for (const candidate of chosen) {
    const row = rows.get(candidate.WorkId);
    if (row === undefined || row.State !== 'processing' || row.LeaseUntil! >= row.Now) continue;
    // Adopted above, in a transaction that takes longer than a lease: its holder is the caller.
    if (row.LeaseToken === request.token) continue;
    const state = yield* failWorkItem(row, LEASE_EXPIRED, 0);
    (state === 'dead' ? ended : stopped).push(row);
    if (state === 'pending') again.push(candidate);
    else claiming.expired++;
    claiming.processing--;
    claiming.stale--;
  }
  yield* leaveLanes(ended, stopped);
  yield* attempt(claiming, again, true);
}
