/** How often an idle scheduler looks. `minMs`: after work was found; doubles with every empty look up to `maxMs`. */
export interface PollLimits {
  readonly minMs: number;
  readonly maxMs: number;
}

/** One statement or two a look: at the ceiling an idle pack costs no more than two statements a second. */
export const DEFAULT_POLL: PollLimits = { minMs: 25, maxMs: 1_000 };

const MAX_DOUBLINGS = 20;

/** How long to rest before the next look, from what the last ones brought. Reads no clock. */
export class ScanPacing {
  readonly #limits: PollLimits;
  #emptyLooks = 0;
  #hurriedLooks = 0;
  #hurried = false;
  #nextInMs: number | null = null;

  constructor(limits: PollLimits) {
    this.#limits = limits;
  }

  /** The last look brought nothing. */
  get isCold(): boolean {
    return this.#emptyLooks > 0;
  }

  found(): void {
    this.#emptyLooks = 0;
    this.#hurriedLooks = 0;
    this.#nextInMs = null;
  }

  /** `nextInMs`: when the next item is due or the next lease ends; `null`: nothing waits for time. */
  foundNothing(nextInMs: number | null): void {
    this.#hurriedLooks = this.#hurried ? this.#hurriedLooks + 1 : 0;
    this.#emptyLooks++;
    this.#nextInMs = nextInMs;
  }

  /**
   * The rest before the next look. Never past the moment something is due; but a due time that keeps bringing
   * nothing (rounding, a skewed clock, a full budget) is trusted less each time, so that it cannot spin.
   */
  restMs(): number {
    const { minMs, maxMs } = this.#limits;
    const backoffMs = Math.min(maxMs, minMs * 2 ** Math.min(this.#emptyLooks, MAX_DOUBLINGS));
    this.#hurried = this.#nextInMs !== null && this.#nextInMs < backoffMs;
    if (this.#nextInMs === null) return backoffMs;
    const floorMs = 2 ** Math.min(this.#hurriedLooks, MAX_DOUBLINGS);
    return Math.min(backoffMs, Math.max(this.#nextInMs, floorMs));
  }
}
