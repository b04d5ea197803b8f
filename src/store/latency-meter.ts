import type { Clock } from '../core/clock.js';

/** Weight of the newest measurement. */
const NEWEST = 0.1;
/** Without new measurements a reading is worth half after so long: a store that nobody asks is not slow for ever. */
const HALF_LIFE_MS = 1_000;

/** A moving average of how long statements take. */
export class LatencyMeter {
  readonly #clock: Clock;
  #averageMs = 0;
  #notedAt = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Milliseconds; 0 before the first statement. */
  get latencyMs(): number {
    const quietMs = this.#clock.monotonic() - this.#notedAt;
    return this.#averageMs * 0.5 ** (quietMs / HALF_LIFE_MS);
  }

  /** A statement that began at `startedAt`, monotonic, has ended. */
  note(startedAt: number): void {
    const now = this.#clock.monotonic();
    const before = this.latencyMs;
    this.#averageMs = before + NEWEST * (now - startedAt - before);
    this.#notedAt = now;
  }
}
