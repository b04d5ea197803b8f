import type { Clock } from '../core/clock.js';
import { LaneheadError } from '../core/errors.js';
import type { ClassStats, Stats, Store } from '../store/store.js';

const MIN_REST_MS = 20;
const MAX_REST_MS = 500;

/** What can still move by itself. Items behind a held one, or queued behind it, cannot. */
const moving = (counts: ClassStats): number =>
  counts.ready + counts.delayed + counts.processing + counts.stale;

const isIdle = (stats: Stats): boolean =>
  stats.packs.every((pack) => Object.values(pack.classes).every((counts) => moving(counts) === 0));

/**
 * Resolves with the last statistics when nothing in the database can move any more, retries included.
 * @throws LaneheadError `not_idle` after `timeoutMs`, saying what is left
 */
export async function drainUntilIdle(
  store: Pick<Store, 'stats'>,
  clock: Clock,
  timeoutMs: number,
): Promise<Stats> {
  const until = clock.monotonic() + timeoutMs;
  for (let restMs = MIN_REST_MS; ; restMs = Math.min(MAX_REST_MS, restMs * 2)) {
    const stats = await store.stats({ exact: true });
    if (isIdle(stats)) return stats;
    if (clock.monotonic() >= until) {
      throw new LaneheadError('not_idle', `not idle after ${timeoutMs} ms: ${JSON.stringify(stats.packs)}`);
    }
    await clock.sleep(restMs);
  }
}
