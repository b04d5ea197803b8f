/**
 * Admission goes first in a process that also drains (ADM-4): a sender waits, a backlog does not mind. What admits runs
 * its commits through here, and the drain asks here before each of its transactions.
 *
 *   calm ──commit begins──▶ committing ──ends──▶ active ──nothing for RECENT_MS──▶ calm
 *                               ▲───────begins─────┘
 *
 * calm: the drain does as it likes. Else its transactions are short, so that none is long in the way of a commit; and
 * one that comes while a commit is in flight waits for an end of one, which lets one of them go. So the drain goes on
 * between commits, however many come. Where one store thread serves both, its inbox lets them alternate already.
 */
import type { Clock } from './clock.js';
import { WaitList } from './wait-list.js';

/** Items of one transaction of the drain while this process admits: each costs a COMMIT, so too short is dear as well. */
export const SHORT_BATCH = 16;

/** Commits that follow each other so closely are one stretch of admission. */
const RECENT_MS = 250;
/** A commit that hangs must not stop the drain. */
const PATIENCE_MS = 50;

export class Foreground {
  readonly #clock: Clock;
  readonly #alternates: boolean;
  readonly #waiting: WaitList;
  #committing = 0;
  #endedAt = Number.NEGATIVE_INFINITY;

  /** @param alternates the store lets commits and the drain take turns by itself */
  constructor(clock: Clock, { alternates = false }: { readonly alternates?: boolean } = {}) {
    this.#clock = clock;
    this.#waiting = new WaitList(clock);
    this.#alternates = alternates;
  }

  /** This process admits, or did just now. */
  get isActive(): boolean {
    return this.#committing > 0 || this.#clock.monotonic() - this.#endedAt < RECENT_MS;
  }

  /** Runs a commit of admission, at once. */
  async admit<T>(commit: () => Promise<T>): Promise<T> {
    this.#committing++;
    try {
      return await commit();
    } finally {
      this.#committing--;
      this.#endedAt = this.#clock.monotonic();
      this.#waiting.releaseFirst();
    }
  }

  /** Resolves when a transaction of the drain may begin: at once, or in its turn, after `PATIENCE_MS` at the latest. */
  turn(): Promise<void> {
    if (this.#alternates || this.#committing === 0) return Promise.resolve();
    return this.#waiting.wait(PATIENCE_MS);
  }
}
