/**
 * What a scheduler does next, as pure arithmetic over what it sees: no I/O, no clock, no memory. The processing
 * budget and the lane heads stay with the store; what is decided here is only how much to ask for (SCH-8).
 */
import { INBOUND_WORK_TYPES, type QueueClass } from '../core/work.js';
import type { ClaimRequest, ClaimScope } from '../store/store.js';

/** One place where an item can run. */
export interface ExecutorSlot {
  readonly id: number;
  /** Eligibility filter of the slot (QCL-1); empty means all classes. */
  readonly queueClasses: readonly QueueClass[];
}

export interface SchedulerView {
  readonly packId: number;
  readonly generation: number;
  /** Slots that wait, longest first. */
  readonly idle: readonly ExecutorSlot[];
  /** Items this process holds: a lower bound of the pack's rows in processing. */
  readonly running: number;
  /** Rows of the pack that may be in processing, over all processes (DRN-1). */
  readonly processingBudget: number;
  readonly mode: ClaimRequest['mode'];
  readonly leaseMs: number;
  readonly token: string;
  readonly repeat: boolean;
  readonly holder: string;
}

export type ClaimPlan =
  | { readonly kind: 'wait' }
  | { readonly kind: 'claim'; readonly request: ClaimRequest };

/**
 * Items one claim may bring: at most one per idle slot, and no more than the budget leaves beside what runs here.
 * Taking over a stale row is budget-neutral, so only the slots bound it.
 */
export function claimRoom(view: Pick<SchedulerView, 'running' | 'processingBudget' | 'mode'>, idle: number) {
  if (view.mode === 'stale') return idle;
  return Math.max(0, Math.min(idle, view.processingBudget - view.running));
}

/** What a scan for these slots may touch. */
export function claimScope(
  view: Pick<SchedulerView, 'packId' | 'generation'>,
  slot: ExecutorSlot,
): ClaimScope {
  return {
    packId: view.packId,
    generation: view.generation,
    claimWorkTypes: INBOUND_WORK_TYPES,
    queueClasses: slot.queueClasses,
  };
}

/** The next claim, or to wait until a slot comes back. */
export function planClaim(view: SchedulerView): ClaimPlan {
  const [first] = view.idle;
  const maxClaims = claimRoom(view, view.idle.length);
  if (first === undefined || maxClaims === 0) return { kind: 'wait' };
  const request: ClaimRequest = {
    ...claimScope(view, first),
    preference: [],
    maxClaims,
    leaseMs: view.leaseMs,
    processingBudget: view.processingBudget,
    mode: view.mode,
    token: view.token,
    repeat: view.repeat,
    holder: view.holder,
  };
  return { kind: 'claim', request };
}
