import { type Plan, read } from '../plan.js';
import * as sql from '../statements/claim.js';
import { ids, readList } from './batches.js';
import { threeClasses } from './claim-scope.js';
import { attempt, type Claiming, canRun, startsOf } from './claim-swap.js';
import { failWorkItem, leaveLanes, lockRows } from './finalize.js';
import { startsAllowed } from './shared-limits.js';
import { withinLimits } from './source-limits.js';
import { endingOf } from './tally.js';

const LEASE_EXPIRED = {
  code: 'lease_expired',
  message: 'the holder stopped renewing its lease while the item ran',
};

/**
 * Takes over expired leases: each is a failure (its run may have killed the process), and what has budget left is
 * claimed again at once, so the number of rows in processing does not rise. What a limit lets nobody start now, or this
 * process cannot run, waits in the queue like everything else: as a row in processing it would lock its pack out.
 */
export function* reclaim(claiming: Claiming): Plan<void> {
  if (claiming.stale === 0) return;
  const stale = yield* staleRows(claiming);
  const startable = new Set(yield* mayStart(claiming, stale));
  // Events before WorkItems, as everywhere: the claim below locks both again.
  yield* readList(sql.lockEventOwners, ids([...new Set(stale.map((row) => row.EventId))].sort()));
  const rows = yield* lockRows(stale.map((row) => row.WorkId));
  const again: sql.CandidateRow[] = [];
  const ended: sql.ItemRow[] = [];
  const stopped: sql.ItemRow[] = [];
  for (const candidate of stale) {
    const row = rows.get(candidate.WorkId);
    if (row === undefined || row.State !== 'processing' || row.LeaseUntil! >= row.Now) continue;
    // Adopted above, in a transaction that takes longer than a lease: its holder is the caller.
    if (row.LeaseToken === claiming.request.token) continue;
    const state = yield* failWorkItem(row, LEASE_EXPIRED, 0);
    (state === 'dead' ? ended : stopped).push(row);
    if (state === 'dead') claiming.endings.push(endingOf(row, state));
    if (state !== 'pending') claiming.expired++;
    else if (startable.has(candidate)) again.push(candidate);
    claiming.processing--;
    claiming.stale--;
  }
  yield* leaveLanes(ended, stopped);
  yield* attempt(claiming, again, true);
}

/** One for each free slot, oldest lease first. */
function* staleRows({ request, workTypes, items }: Claiming): Plan<sql.CandidateRow[]> {
  const stale: sql.CandidateRow[] = [];
  for (const workType of workTypes) {
    const params = [request.packId, workType, ...threeClasses(request)];
    stale.push(...(yield* read<sql.CandidateRow>(sql.scanStale, params)));
  }
  return stale.slice(0, Math.max(0, request.maxClaims - items.length));
}

function* mayStart(
  claiming: Claiming,
  stale: readonly sql.CandidateRow[],
): Plan<readonly sql.CandidateRow[]> {
  const { request, shared, sources } = claiming;
  const runnable = stale.filter((row) => canRun(request, row));
  const within = sources === null ? runnable : yield* withinLimits(sources, runnable, true);
  return within.slice(0, startsAllowed(shared, startsOf(claiming)));
}
