/** What a person asks for, from the first step to the last: the same for the API and for the command line. */
import type { Clock } from '../core/clock.js';
import { LaneheadError } from '../core/errors.js';
import type { NewId } from '../core/ids.js';
import type { Enqueued } from '../core/work.js';
import type { ActionRecord, Store, WorkAction, WorkFilter } from '../store/store.js';

export interface WorkActionOptions {
  /** Which items; at least one thing is named. */
  readonly filter: WorkFilter;
  /** Who acts, 1 to 128 characters; a dry run needs neither this nor a reason. */
  readonly by?: string;
  /** Why, 1 to 2,000 characters. */
  readonly reason?: string;
  /**
   * Id of the action, 1 to 64 printable ASCII characters. Again the same request under the same id is the same action:
   * it goes on where it was, or has the same result. Default: a new one.
   */
  readonly action?: string;
  /** Counts what would be changed, and changes nothing. Default false. */
  readonly dryRun?: boolean;
  /** Most items a second, 0.01 to 10,000: the steps are paced. Default: as fast as the database. */
  readonly ratePerSecond?: number;
  /** Told after each step. */
  readonly onProgress?: (result: WorkActionResult) => void;
}

export interface WorkActionResult {
  /** Its id; `null`: a dry run is no action. */
  readonly action: string | null;
  /** Items that were found, changed, and left as they were, since the action began. */
  readonly matched: number;
  readonly changed: number;
  readonly skipped: number;
  readonly dryRun: boolean;
}

export interface WorkActionParts {
  readonly store: Pick<Store, 'act' | 'preview'>;
  readonly clock: Clock;
  readonly newId: NewId;
  /** Told what may be claimable after a step. */
  readonly onEnqueued?: (enqueued: Enqueued) => void;
}

const MOST_RATE = 10_000;
const LEAST_RATE = 0.01;
/** Steps a second of a rate: what is left to a single one comes as a burst. */
const STEPS_PER_SECOND = 4;

/**
 * Step by step to its end; whoever is cut off may ask again under the same id.
 * @throws LaneheadError `invalid_argument`, `not_found`
 */
export async function runWorkAction(
  parts: WorkActionParts,
  kind: WorkAction,
  options: WorkActionOptions,
): Promise<WorkActionResult> {
  const { filter, ratePerSecond = null } = options;
  if (options.dryRun) return await preview(parts, kind, options);
  if (ratePerSecond !== null && !(ratePerSecond >= LEAST_RATE && ratePerSecond <= MOST_RATE)) {
    throw new LaneheadError(
      'invalid_argument',
      `a rate is from ${LEAST_RATE} to ${MOST_RATE} items a second`,
    );
  }
  const { by: actor = '', reason = '', action: actionId = parts.newId('act') } = options;
  const request = { actionId, kind, actor, reason, filter };
  const limit = ratePerSecond === null ? {} : { limit: Math.ceil(ratePerSecond / STEPS_PER_SECOND) };
  for (;;) {
    const { action: record, changed, enqueued } = await parts.store.act(request, limit);
    for (const some of enqueued) parts.onEnqueued?.(some);
    const result = resultOf(record);
    options.onProgress?.(result);
    if (record.status === 'finished') return result;
    // From the end of the step on, so that no second has more than its items.
    if (ratePerSecond !== null) await parts.clock.sleep((changed / ratePerSecond) * 1_000);
  }
}

async function preview(
  { store }: WorkActionParts,
  kind: WorkAction,
  { filter, onProgress }: WorkActionOptions,
): Promise<WorkActionResult> {
  let result: WorkActionResult = { action: null, matched: 0, changed: 0, skipped: 0, dryRun: true };
  let position: string | null = null;
  do {
    const step = await store.preview({ kind, filter }, position);
    const [matched, skipped] = [result.matched + step.matched, result.skipped + step.skipped];
    result = { ...result, matched, skipped };
    onProgress?.(result);
    position = step.position;
  } while (position !== null);
  return result;
}

const resultOf = ({ action, matched, changed, skipped }: ActionRecord): WorkActionResult => ({
  action,
  matched,
  changed,
  skipped,
  dryRun: false,
});
