import type { Cancel, Clock, NextTurn } from '../core/clock.js';
import { GuardedCall } from './guarded-call.js';
import type { HeldLease } from './held-lease.js';

/** `deadlineMs`: when a call's signal aborts (EXE-5). `abandonMs`: when a call that ignores it is given up; ≥ `deadlineMs`. */
export interface CallLimits {
  readonly deadlineMs: number;
  readonly abandonMs: number;
}

/**
 * Holds every call into a pack's code to its time, with one timer for all of them: it is set for the earliest
 * moment anything can be due, and moments only move later, so a busy process sets it once per deadline.
 */
export class CallWatch {
  readonly clock: Clock;
  readonly limits: CallLimits;
  readonly #nextTurn: NextTurn;
  readonly #calls = new Set<GuardedCall>();
  #armedFor = Number.POSITIVE_INFINITY;
  #cancel: Cancel = () => undefined;
  #stopping = false;
  #abandoned = 0;

  constructor(clock: Clock, nextTurn: NextTurn, limits: CallLimits) {
    this.clock = clock;
    this.limits = limits;
    this.#nextTurn = nextTurn;
  }

  /** Calls that were given up and still run. */
  get abandoned(): number {
    return this.#abandoned;
  }

  /** No new call should begin. */
  get stopping(): boolean {
    return this.#stopping;
  }

  /** A call that acts under these leases; it begins with `run`. */
  open(held: readonly HeldLease[]): GuardedCall {
    return new GuardedCall(this, held);
  }

  /** Aborts what runs; what has not settled `graceMs` later is abandoned. */
  stop(graceMs: number): void {
    this.#stopping = true;
    for (const call of this.#calls) call.abort('stopping', graceMs);
  }

  /** Sets no timer any more. Calls that were abandoned are still counted when they return. */
  close(): void {
    this.#armedFor = Number.NEGATIVE_INFINITY;
    this.#cancel();
  }

  add(call: GuardedCall): void {
    this.#calls.add(call);
    this.arm(call.dueAt());
  }

  delete(call: GuardedCall): void {
    this.#calls.delete(call);
  }

  /** `by` 1: given up; -1: it returned after all. */
  countAbandoned(by: 1 | -1): void {
    this.#abandoned += by;
  }

  /** Makes sure that somebody looks at `dueAt`. */
  arm(dueAt: number): void {
    if (dueAt >= this.#armedFor) return;
    this.#cancel();
    this.#armedFor = dueAt;
    // After a blocked event loop the timer comes first; a turn later, renewals and results that waited are in.
    this.#cancel = this.clock.after(dueAt - this.clock.monotonic(), () =>
      this.#nextTurn(() => this.#sweep()),
    );
  }

  #sweep(): void {
    this.#armedFor = Number.POSITIVE_INFINITY;
    const now = this.clock.monotonic();
    let next = Number.POSITIVE_INFINITY;
    for (const call of this.#calls) {
      if (call.dueAt() <= now) call.expire(now);
      if (this.#calls.has(call)) next = Math.min(next, call.dueAt());
    }
    this.arm(next);
  }
}
