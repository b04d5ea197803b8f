/** What went wrong with an item, as stored on its row. `message` holds no payload and no secret; ≤ 2,000 characters. */
export interface WorkError {
  readonly code: string;
  readonly message: string;
}

/** Why a run failed. Closed, so that it can label a metric. */
export const FAILURE_CODES = [
  'flow_error',
  'flow_deadline',
  'retry_after',
  'batch_read_error',
  'event_unreadable',
  'executor_crash',
] as const;
export type FailureCode = (typeof FAILURE_CODES)[number];

export const OUTCOME_KINDS = [
  'completed',
  'skipped',
  'dead',
  'failed',
  'released',
] as const satisfies readonly Outcome['kind'][];

/**
 * How an execution ended. Outcomes are data; `finalize` is the one place that applies them.
 * - `completed`, `skipped`, `dead`: terminal.
 * - `failed`: costs one of the failure budget (EXE-4); due again after `delayMs`, or dead/held when it is spent.
 * - `released`: given back unrun; costs nothing; due again after `delayMs` (default 0).
 */
export type Outcome =
  | { readonly kind: 'completed' }
  | { readonly kind: 'skipped'; readonly error: WorkError }
  | { readonly kind: 'dead'; readonly error: WorkError }
  | { readonly kind: 'failed'; readonly error: WorkError; readonly delayMs: number }
  | { readonly kind: 'released'; readonly reason: string; readonly delayMs?: number };
