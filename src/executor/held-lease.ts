import type { Lease } from '../core/work.js';

/** Part of the lease in which nothing of ours may still be acting: the signal aborts before it begins. */
const SAFETY_SHARE = 1 / 6;

/** A lease this process holds, as its executor sees it. All times are monotonic. */
export class HeldLease {
  readonly id: number;
  readonly lease: Lease;
  readonly #leaseMs: number;
  #safeUntil: number;
  #lost = false;
  /** Told once, when the store says that the lease is gone. */
  onLost: (() => void) | null = null;

  constructor(id: number, lease: Lease, sentAt: number, leaseMs: number) {
    this.id = id;
    this.lease = lease;
    this.#leaseMs = leaseMs;
    this.#safeUntil = sentAt + leaseMs * (1 - SAFETY_SHARE);
  }

  /** Until when the holder may act: counted from the *send* of the last claim or renewal that succeeded. */
  get safeUntil(): number {
    return this.#lost ? Number.NEGATIVE_INFINITY : this.#safeUntil;
  }

  renewed(sentAt: number): void {
    this.#safeUntil = Math.max(this.#safeUntil, sentAt + this.#leaseMs * (1 - SAFETY_SHARE));
  }

  lose(): void {
    if (this.#lost) return;
    this.#lost = true;
    this.onLost?.();
  }
}
