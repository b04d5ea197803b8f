/**
 * What a scheduler does next, as pure arithmetic over what it sees: no I/O, no clock, no memory. The processing
 * budget and the lane heads stay with the store; what is decided here is only how much to ask for (SCH-8).
 */
import { INBOUND_WORK_TYPES, type QueueClass } from '../core/work.js';
import type { ClaimLimits, ClaimRequest, ClaimScope, Runnable } from '../store/store.js';
import type { ExecutorShape } from './shapes.js';

export interface SchedulerView {
  readonly packId: number;
  readonly generation: number;
  /** The shape that was picked, and how many of its slots wait. */
  readonly shape: ExecutorShape;
  readonly idle: number;
  /** Its affinity this time. */
  readonly preference: readonly QueueClass[];
  /** Items this process holds: a lower bound of the pack's rows in processing. */
  readonly running: number;
  /** Rows of the pack that may be in processing, over all processes (DRN-1). */
  readonly processingBudget: number;
  readonly mode: ClaimRequest['mode'];
  readonly limits: ClaimLimits | null;
  readonly runnable: Runnable | null;
  readonly leaseMs: number;
  readonly token: string;
  readonly repeat: boolean;
  readonly holder: string;
}

export type ClaimPlan =
  | { readonly kind: 'wait' }
  | { readonly kind: 'claim'; readonly request: ClaimRequest };

/**
 * The permits of a scan, and so the items its claim may bring: at most one per waiting slot of the shape, and no more
 * than the budget leaves beside what runs here. Taking over a stale row is budget-neutral, so only the slots bound it.
 */
export function claimRoom(
  view: Pick<SchedulerView, 'idle' | 'running' | 'processingBudget' | 'mode'>,
): number {
  if (view.mode === 'stale') return view.idle;
  return Math.max(0, Math.min(view.idle, view.processingBudget - view.running));
}

/** What a scan for slots of this shape may touch. */
export function claimScope({
  packId,
  generation,
  shape,
}: Pick<SchedulerView, 'packId' | 'generation' | 'shape'>): ClaimScope {
  return { packId, generation, claimWorkTypes: INBOUND_WORK_TYPES, queueClasses: shape.queueClasses };
}

/** The next claim, or to wait until a slot comes back. */
export function planClaim(view: SchedulerView): ClaimPlan {
  const maxClaims = claimRoom(view);
  if (maxClaims === 0) return { kind: 'wait' };
  const { preference, leaseMs, processingBudget, mode, limits, runnable, token, repeat, holder } = view;
  const request: ClaimRequest = {
    ...claimScope(view),
    preference,
    maxClaims,
    leaseMs,
    processingBudget,
    mode,
    limits,
    runnable,
    token,
    repeat,
    holder,
  };
  return { kind: 'claim', request };
}
