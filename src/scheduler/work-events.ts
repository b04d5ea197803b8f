import type { Outcome } from '../core/outcome.js';
import type { DrainStage, StageTimes } from '../core/stopwatch.js';
import type { WorkItemState } from '../core/work.js';
import type { ClaimedItem, ClaimResult } from '../store/store.js';
import type { ClaimDecision } from './claim-limiter.js';
import type { ExecutorShape } from './shapes.js';

export const SCAN_KINDS = ['peek', 'claim', 'reclaim'] as const;

/** What happens to work in this process, for statistics, logs and tests. Nothing here decides anything. */
export interface WorkEventMap {
  /** The claim limiter decided on a scan that is about to begin (PRS-2, MET-3). */
  claimDecided: {
    readonly packId: number;
    readonly shape: ExecutorShape;
    /** Slots of the shape that wait, and how many items were asked for; a full budget asks for fewer. */
    readonly waiting: number;
    readonly asked: number;
    readonly decision: ClaimDecision;
  };
  /** One look at the queue ended: a `peek`, or a `claim` with what it brought; `reclaim`: of expired leases alone. */
  scanned: {
    readonly packId: number;
    readonly kind: (typeof SCAN_KINDS)[number];
    /** Whose slots the scan was for. */
    readonly shape: ExecutorShape['name'];
    /** Items it could bring; 0 for a peek. */
    readonly asked: number;
    readonly result: ClaimResult | null;
  };
  /** A look failed; the next one follows after `retryInMs`. */
  scanFailed: { readonly packId: number; readonly error: unknown; readonly retryInMs: number };
  claimed: { readonly items: readonly ClaimedItem[] };
  /** The slot has taken the item up; its flow has not run yet. */
  started: { readonly item: ClaimedItem };
  /** The outcome is durable. `elapsedMs` counts from `started`. */
  finished: {
    readonly item: ClaimedItem;
    readonly outcome: Outcome;
    readonly state: WorkItemState;
    /** Of its budget, this one included. */
    readonly failures: number;
    readonly elapsedMs: number;
    readonly stages: StageTimes<DrainStage>;
  };
  /** The store refused the outcome: the lease belongs to somebody else (OWN-5). */
  lost: { readonly item: ClaimedItem; readonly outcome: Outcome };
  /** The outcome could not be stored while the lease could still be believed; the lease will run out. */
  unreported: { readonly item: ClaimedItem; readonly outcome: Outcome; readonly error: unknown };
  /** A call ignored its abort until its time was up; whatever it does now is ignored. */
  abandoned: { readonly item: ClaimedItem; readonly stage: 'batchRead' | 'flow' };
  /** An exception left the executor; the slot comes back after `restartInMs` (SUP-6). */
  slotCrashed: { readonly packId: number; readonly error: unknown; readonly restartInMs: number };
  /** A repair sweep corrected readiness marks. */
  repaired: { readonly packId: number; readonly marks: number };
}

export type WorkEventName = keyof WorkEventMap;
export type WorkListener<Name extends WorkEventName> = (event: WorkEventMap[Name]) => unknown;

/** Typed observers. A listener that throws or rejects is reported once per event and never breaks the work. */
export class WorkEvents {
  readonly #listeners = new Map<WorkEventName, Set<WorkListener<never>>>();
  readonly #onListenerError: (error: unknown) => void;

  constructor(onListenerError: (error: unknown) => void = () => undefined) {
    this.#onListenerError = onListenerError;
  }

  /** Returns the function that removes the listener. */
  on<Name extends WorkEventName>(name: Name, listener: WorkListener<Name>): () => void {
    const listeners = this.#listeners.get(name) ?? new Set();
    listeners.add(listener);
    this.#listeners.set(name, listeners);
    return () => void listeners.delete(listener);
  }

  emit<Name extends WorkEventName>(name: Name, event: WorkEventMap[Name]): void {
    const listeners = this.#listeners.get(name);
    if (listeners === undefined) return;
    for (const listener of listeners) this.#call(listener as WorkListener<Name>, event);
  }

  #call<Name extends WorkEventName>(listener: WorkListener<Name>, event: WorkEventMap[Name]): void {
    try {
      const answer = listener(event);
      if (answer instanceof Promise) answer.catch(this.#onListenerError);
    } catch (error) {
      this.#onListenerError(error);
    }
  }
}
