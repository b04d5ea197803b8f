export interface BoundLimits {
  /** Requests held at one time; ≥ 1. */
  readonly requests: number;
  /** Bytes of their bodies; ≥ the largest body a route takes. */
  readonly bytes: number;
}

/** Which of the two was used up. */
export type Exceeded = 'requests' | 'bytes';

/** A place within the bound. `release` gives it back with all its bytes; calling it again does nothing. */
export interface Place {
  readonly bytes: number;
  /** Holds the bytes of a body as they arrive. False: over the bound, and nothing more is held. */
  grow(bytes: number): boolean;
  release(): void;
}

export interface Held {
  readonly requests: number;
  readonly bytes: number;
}

type Holding = { -readonly [Name in keyof Held]: Held[Name] };

const NOTHING: Held = { requests: 0, bytes: 0 };

/** Of each limit, what is kept for those who hold less than an equal share. */
const HEADROOM = 1 / 4;

/**
 * A bound on requests and bytes that tenants share. Plain counting: what is over it is refused, never queued.
 *
 * Fair without waste: anybody may use three quarters of it; the last quarter is for those who hold less than an equal
 * share, a newcomer counted in. So each of n gets 1/(n+1) of it whatever the others do, and may use what they leave.
 */
export class FairBound {
  readonly #limits: BoundLimits;
  /** Those who hold something, and nobody else. */
  readonly #tenants = new Map<string, Holding>();
  readonly #total: Holding = { requests: 0, bytes: 0 };

  constructor(limits: BoundLimits) {
    this.#limits = limits;
  }

  get held(): Held {
    return { ...this.#total };
  }

  /** Why a request could not enter now; `null`: it could. */
  exceeded(tenant: string, announcedBytes: number): Exceeded | null {
    const held = this.#tenants.get(tenant) ?? NOTHING;
    const isOnly = held.requests === 0;
    if (!this.#fits('requests', held, 1, isOnly)) return 'requests';
    return this.#fits('bytes', held, announcedBytes, isOnly) ? null : 'bytes';
  }

  /**
   * A body that cannot fit is refused before it is read. Its length is not held, for it is a claim of somebody who has
   * not been verified: whoever announces much and sends nothing would hold what others could use.
   * @param announcedBytes of the body; 0 when unknown.
   */
  enter(tenant: string, announcedBytes: number): Place | Exceeded {
    const exceeded = this.exceeded(tenant, announcedBytes);
    if (exceeded !== null) return exceeded;
    const held = this.#tenants.get(tenant) ?? { requests: 0, bytes: 0 };
    this.#tenants.set(tenant, held);
    this.#add(held, 1, 0);
    let bytes = 0;
    let released = false;
    return {
      get bytes() {
        return bytes;
      },
      grow: (more) => {
        if (released || !this.#fits('bytes', held, more, held.requests === 1)) return false;
        this.#add(held, 0, more);
        bytes += more;
        return true;
      },
      release: () => {
        if (released) return;
        released = true;
        this.#add(held, -1, -bytes);
        if (held.requests === 0) this.#tenants.delete(tenant);
      },
    };
  }

  /** @param isOnly the tenant's only request: it may use all that is left, however large its body is. */
  #fits(what: Exceeded, held: Held, more: number, isOnly: boolean): boolean {
    const limit = this.#limits[what];
    const total = this.#total[what] + more;
    if (total > limit) return false;
    if (isOnly || total <= limit - Math.floor(limit * HEADROOM)) return true;
    return held[what] + more <= limit / (this.#tenants.size + 1);
  }

  #add(held: Holding, requests: number, bytes: number): void {
    for (const count of [held, this.#total]) {
      count.requests += requests;
      count.bytes += bytes;
    }
  }
}
