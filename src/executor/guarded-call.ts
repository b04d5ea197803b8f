/**
 * One call into a pack's code (a flow, or a batch read).
 *
 *   running ──returns, throws──────────────────────────▶ settled
 *      │ deadline, lease lost or about to end, stop        ▲
 *      ▼                                                   │
 *   aborted (signal) ──returns, throws─────────────────────┘
 *      │ abandonMs
 *      ▼
 *   abandoned: whatever it does later is ignored
 */
import type { CallWatch } from './call-watch.js';
import type { HeldLease } from './held-lease.js';

export type AbortCause = 'deadline' | 'lease' | 'stopping';

export type Settled =
  | { readonly kind: 'returned'; readonly value: unknown }
  | { readonly kind: 'threw'; readonly error: unknown }
  | { readonly kind: 'abandoned' };

/** How a call ended, and what had aborted it, if anything had. */
export interface CallEnd {
  readonly settled: Settled;
  readonly abortCause: AbortCause | null;
}

const ABORT_TEXT: Readonly<Record<AbortCause, string>> = {
  deadline: 'the flow deadline passed',
  lease: 'the lease is lost or about to end',
  stopping: 'the process is stopping',
};

export class GuardedCall {
  readonly #watch: CallWatch;
  readonly #held: readonly HeldLease[];
  #deadlineAt = 0;
  #abandonAt = 0;
  #cause: AbortCause | null = null;
  #controller: AbortController | null = null;
  #resolve: ((settled: Settled) => void) | null = null;

  constructor(watch: CallWatch, held: readonly HeldLease[]) {
    this.#watch = watch;
    this.#held = held;
  }

  /** Why the signal was aborted, if it was. */
  get abortCause(): AbortCause | null {
    return this.#cause;
  }

  /** Made when it is first asked for: most calls end without. */
  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      if (this.#cause !== null) this.#controller.abort(abortReason(this.#cause));
    }
    return this.#controller.signal;
  }

  /** Never rejects. Called once. */
  run(start: () => unknown): Promise<Settled> {
    const { clock, limits } = this.#watch;
    const now = clock.monotonic();
    this.#deadlineAt = now + limits.deadlineMs;
    this.#abandonAt = now + limits.abandonMs;
    for (const held of this.#held) held.onLost = () => this.abort('lease');
    this.#watch.add(this);
    return new Promise((resolve) => {
      this.#resolve = resolve;
      begin(start).then(
        (value) => this.#end({ kind: 'returned', value }),
        (error: unknown) => this.#end({ kind: 'threw', error }),
      );
    });
  }

  /** When `expire` has something to do, unless a lease is renewed before. */
  dueAt(): number {
    if (this.#cause !== null) return this.#abandonAt;
    return this.#held.reduce((at, held) => Math.min(at, held.safeUntil), this.#deadlineAt);
  }

  expire(now: number): void {
    if (this.#cause === null) {
      this.abort(now >= this.#deadlineAt ? 'deadline' : 'lease');
    } else {
      this.#watch.countAbandoned(1);
      this.#settle({ kind: 'abandoned' });
    }
  }

  /**
   * Once only. However late the abort comes (the event loop may have been blocked), the call has the time between
   * deadline and abandonment to react; `graceMs` cuts it short.
   */
  abort(cause: AbortCause, graceMs: number = Number.POSITIVE_INFINITY): void {
    const { clock, limits } = this.#watch;
    const now = clock.monotonic();
    if (this.#cause === null) {
      this.#cause = cause;
      this.#abandonAt = Math.max(this.#abandonAt, now + limits.abandonMs - limits.deadlineMs);
      this.#controller?.abort(abortReason(cause));
    }
    this.#abandonAt = Math.min(this.#abandonAt, now + graceMs);
    if (this.#resolve !== null) this.#watch.arm(this.#abandonAt);
  }

  #end(settled: Settled): void {
    if (this.#resolve === null) this.#watch.countAbandoned(-1);
    else this.#settle(settled);
  }

  #settle(settled: Settled): void {
    this.#watch.delete(this);
    for (const held of this.#held) held.onLost = null;
    this.#resolve?.(settled);
    this.#resolve = null;
  }
}

function abortReason(cause: AbortCause): DOMException {
  return new DOMException(ABORT_TEXT[cause], 'AbortError');
}

function begin(start: () => unknown): Promise<unknown> {
  try {
    return Promise.resolve(start());
  } catch (error) {
    return Promise.reject(error);
  }
}
