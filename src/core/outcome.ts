/** What went wrong with an item, as stored on its row. `message` holds no payload and no secret; ≤ 2,000 characters. */
export interface WorkError {
  readonly code: string;
  readonly message: string;
}

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
