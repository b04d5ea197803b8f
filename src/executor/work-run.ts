import type { Outcome } from '../core/outcome.js';
import type { FlowEvent, Route } from '../packs/types.js';
import type { ClaimedItem } from '../store/store.js';
import type { ClaimBatch } from './claim-batch.js';
import type { HeldLease } from './held-lease.js';

/**
 * One claimed item on its way to an outcome. The steps fill it in, in this order: route, event, outcome; once
 * there is an outcome, no later step touches it.
 */
export interface WorkRun {
  readonly item: ClaimedItem;
  readonly held: HeldLease;
  /** The claim it came with: Events are loaded and batch-read for all of it. */
  readonly batch: ClaimBatch;
  readonly route: Route | null;
  event: FlowEvent | null;
  /** The trace of its receipt, as it was stored; comes with the event. */
  traceContext: string | null;
  outcome: Outcome | null;
}
