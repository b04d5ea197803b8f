/**
 * Renews leases on behalf of a main thread that may be too busy to do it, but not on behalf of one that is stuck.
 * Knows nothing of threads: it runs wherever a `renew` verb, a clock and the main thread's beats can be had.
 *
 *   tracked ──a third of the lease after the last good send──▶ due ──renewed──▶ tracked
 *      │                                                        │ ▲  └─ no answer: due at the next check
 *      │ past its limit, or the main thread has not             │ │
 *      │ beaten for half a lease: not renewed                   │ └──────────────
 *      ▼                                                        ▼
 *   untracked (by the main thread)                            lost (the store no longer knows token and epoch)
 */
import type { Cancel, Clock } from '../core/clock.js';
import type { Lease } from '../core/work.js';
import type { RenewResult, WorkItemService } from '../store/store.js';
import type { TrackedLease } from './lease-protocol.js';

export interface LeaseKeeperOptions {
  readonly service: Pick<WorkItemService, 'renew'>;
  readonly clock: Clock;
  readonly leaseMs: number;
  /** Changes while the main thread lives. */
  readonly beats: () => number;
  /** These were renewed by a statement sent at `sentAt` (this clock, monotonic). */
  readonly onRenewed: (ids: readonly number[], sentAt: number) => void;
  readonly onLost: (ids: readonly number[]) => void;
}

const CHECKS_PER_LEASE = 12;
const RENEWALS_PER_LEASE = 3;
/** One statement of the store takes so many, and what is short delays nobody. */
const MAX_BATCH = 64;

interface Kept {
  readonly id: number;
  readonly lease: Lease;
  readonly renewUntil: number;
  /** Send time of the last good claim or renewal. */
  goodAt: number;
}

export class LeaseKeeper {
  readonly #options: LeaseKeeperOptions;
  readonly #leases = new Map<number, Kept>();
  #cancelCheck: Cancel | null = null;
  /** The check in flight. */
  #check: Promise<void> | null = null;
  #closed = false;
  #beat = 0;
  #beatSeenAt = 0;

  constructor(options: LeaseKeeperOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#leases.size;
  }

  /** Times on this keeper's clock. That the main thread asks is a sign of life too. */
  track(leases: readonly TrackedLease[]): void {
    for (const { id, lease, sentAt, renewUntil } of leases) {
      this.#leases.set(id, { id, lease, renewUntil, goodAt: sentAt });
    }
    this.#beatSeenAt = this.#options.clock.monotonic();
    this.#arm();
  }

  untrack(ids: readonly number[]): void {
    for (const id of ids) this.#leases.delete(id);
  }

  /** Nothing is renewed any more; resolves when a renewal in flight has been answered. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelCheck?.();
    await this.#check;
  }

  /** One check: renews what is due. Errors of the store are waited out; the leases stay due. */
  async runOnce(): Promise<void> {
    const due = this.#due();
    for (let from = 0; from < due.length && !this.#closed; from += MAX_BATCH) {
      await this.#renew(due.slice(from, from + MAX_BATCH));
    }
  }

  #arm(): void {
    if (this.#closed || this.#cancelCheck !== null || this.#leases.size === 0) return;
    const everyMs = this.#options.leaseMs / CHECKS_PER_LEASE;
    this.#cancelCheck = this.#options.clock.after(everyMs, () => {
      this.#cancelCheck = null;
      // However long a renewal takes: a beat that is only seen after it would be taken for a fresh one.
      this.#lookForBeat();
      this.#check ??= this.runOnce().then(() => {
        this.#check = null;
      });
      this.#arm();
    });
  }

  #due(): readonly Kept[] {
    const now = this.#options.clock.monotonic();
    if (!this.#mainLives(now)) return [];
    const dueBefore = now - this.#options.leaseMs / RENEWALS_PER_LEASE;
    return [...this.#leases.values()].filter((kept) => kept.goodAt <= dueBefore && now < kept.renewUntil);
  }

  #mainLives(now: number): boolean {
    this.#lookForBeat();
    return now - this.#beatSeenAt <= this.#options.leaseMs / 2;
  }

  #lookForBeat(): void {
    const beat = this.#options.beats();
    if (beat === this.#beat) return;
    this.#beat = beat;
    this.#beatSeenAt = this.#options.clock.monotonic();
  }

  async #renew(batch: readonly Kept[]): Promise<void> {
    const { service, clock, leaseMs } = this.#options;
    const sentAt = clock.monotonic();
    const leases = batch.map((kept) => kept.lease);
    const result = await service.renew(leases, leaseMs).catch(() => null);
    if (result !== null) this.#apply(batch, result, sentAt);
  }

  #apply(batch: readonly Kept[], result: RenewResult, sentAt: number): void {
    const epochs = new Map(result.renewed.map((lease) => [lease.workId, lease.epoch]));
    const gone = new Set(result.lost);
    const renewed: number[] = [];
    const lost: number[] = [];
    for (const kept of batch) {
      if (!this.#leases.has(kept.id)) continue;
      if (epochs.get(kept.lease.workId) === kept.lease.epoch) {
        kept.goodAt = sentAt;
        renewed.push(kept.id);
      } else if (gone.has(kept.lease.workId)) {
        this.#leases.delete(kept.id);
        lost.push(kept.id);
      }
    }
    if (renewed.length > 0) this.#options.onRenewed(renewed, sentAt);
    if (lost.length > 0) this.#options.onLost(lost);
  }
}

export function createLeaseKeeper(options: LeaseKeeperOptions): LeaseKeeper {
  return new LeaseKeeper(options);
}
