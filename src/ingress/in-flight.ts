import type { Cancel } from '../core/clock.js';

export interface InFlightLimits {
  /** Requests admitted and not yet answered; ≥ 1. */
  readonly requests: number;
  /** Body bytes held by them; ≥ the largest body a route takes. */
  readonly bytes: number;
}

/** A place among the requests in flight. `release` gives it back with all its bytes; calling it again does nothing. */
export interface Place {
  /** Holds the bytes of a body as they arrive. False: over the bound, and nothing more is held. */
  grow(bytes: number): boolean;
  release(): void;
}

/**
 * The bound on what ingress holds in memory, decided before a body is read (PRS-1). Plain counting: a request over
 * the bound is refused, never queued.
 */
export class InFlight {
  readonly #limits: InFlightLimits;
  readonly #idleWaiters = new Set<() => void>();
  #requests = 0;
  #bytes = 0;

  constructor(limits: InFlightLimits) {
    this.#limits = limits;
  }

  get requests(): number {
    return this.#requests;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /**
   * A body that cannot fit is refused before it is read. Its length is not held, for it is a claim of somebody who has
   * not been verified: whoever announces much and sends nothing would hold what others could use.
   * @param announcedBytes of the body; 0 when unknown.
   */
  enter(announcedBytes: number): Place | null {
    if (this.#requests >= this.#limits.requests || this.#bytes + announcedBytes > this.#limits.bytes)
      return null;
    this.#requests += 1;
    let held = 0;
    let released = false;
    return {
      grow: (more) => {
        if (released || this.#bytes + more > this.#limits.bytes) return false;
        this.#bytes += more;
        held += more;
        return true;
      },
      release: () => {
        if (released) return;
        released = true;
        this.#leave(held);
      },
    };
  }

  /** Calls `idle` once nothing is in flight (at once when that is so already). */
  onIdle(idle: () => void): Cancel {
    if (this.#requests === 0) {
      idle();
      return () => {};
    }
    this.#idleWaiters.add(idle);
    return () => this.#idleWaiters.delete(idle);
  }

  #leave(bytes: number): void {
    this.#requests -= 1;
    this.#bytes -= bytes;
    if (this.#requests > 0) return;
    for (const idle of this.#idleWaiters) idle();
    this.#idleWaiters.clear();
  }
}
