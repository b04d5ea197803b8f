import type { Clock } from '../core/clock.js';
import type { StorePressure } from '../store/store.js';

/** `null`: the probe is degraded; it fails, or gives no answer. */
export type PressureReading = StorePressure | null;

/** A reading is asked for anew when it is older. */
const FRESH_MS = 250;
/** A probe that takes longer is degraded: its answer costs no statement. */
const PATIENCE_MS = 1_000;

const NO_PRESSURE: StorePressure = { poolWaitMs: null, statementMs: 0, inboxDepth: null, walBytes: null };

/**
 * The pressure on the store, for all packs of a process. A reading that is no longer fresh is used while the next one is
 * on its way, so that no scan waits for it; one question is under way at most.
 */
export class PressureGauge {
  readonly #probe: () => Promise<StorePressure>;
  readonly #clock: Clock;
  #reading: PressureReading = NO_PRESSURE;
  #answeredAt = Number.NEGATIVE_INFINITY;
  /** Monotonic; `null`: no question is under way. */
  #askedAt: number | null = null;

  constructor(probe: () => Promise<StorePressure>, clock: Clock) {
    this.#probe = probe;
    this.#clock = clock;
  }

  read(): PressureReading {
    const now = this.#clock.monotonic();
    if (this.#askedAt === null && now - this.#answeredAt >= FRESH_MS) void this.#ask(now);
    const isLate = this.#askedAt !== null && now - this.#askedAt >= PATIENCE_MS;
    return isLate ? null : this.#reading;
  }

  async #ask(now: number): Promise<void> {
    this.#askedAt = now;
    try {
      this.#reading = await this.#probe();
    } catch {
      this.#reading = null;
    }
    this.#answeredAt = this.#clock.monotonic();
    this.#askedAt = null;
  }
}
