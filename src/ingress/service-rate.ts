/** What one commit counts for in the averages: about the last eight of them matter. */
const WEIGHT = 1 / 4;

/**
 * How fast commits go, as exponentially weighted averages over the commits that succeeded. In units: a receipt is one,
 * a large one as many as it fills of a group.
 */
export class ServiceRate {
  #units = 0;
  #elapsedMs = 0;
  #lastUnits = 0;

  record(units: number, elapsedMs: number): void {
    // A much fuller commit than before says what the store can do; what small ones took says nothing of it.
    const weight = this.isMeasured && units < 2 * this.#units ? WEIGHT : 1;
    this.#units += weight * (units - this.#units);
    // A commit within one tick of the clock still took time.
    this.#elapsedMs += weight * (Math.max(elapsedMs, 0.1) - this.#elapsedMs);
    this.#lastUnits = units;
  }

  get isMeasured(): boolean {
    return this.#lastUnits > 0;
  }

  get lastUnits(): number {
    return this.#lastUnits;
  }

  /** @param committingMs of the commit in flight: one that takes longer than all before it is news already. */
  commitMs(committingMs: number): number {
    return Math.max(this.#elapsedMs, committingMs);
  }

  /** Units per millisecond; 0 when nothing was measured. */
  perMs(committingMs: number): number {
    return this.isMeasured ? this.#units / this.commitMs(committingMs) : 0;
  }
}
