import type { Clock } from '../core/clock.js';
import type { Store } from '../store/store.js';

export interface ReadinessRepairOptions {
  readonly store: Pick<Store, 'repairReadiness'>;
  readonly packId: number;
  readonly clock: Clock;
  /** Rest between two sweeps. */
  readonly everyMs: number;
  /** Marks were corrected: something may be claimable. */
  readonly onRepaired: (marks: number) => void;
  readonly onError: (error: unknown) => void;
}

/** The rest between two steps of a sweep, so that it never competes with the work. */
const STEP_EVERY_MS = 1_000;

/**
 * Readiness marks are hints that every verb keeps; this sweep is the net below them. It goes through a pack's open
 * items in bounded steps and recomputes the marks.
 */
export class ReadinessRepair {
  readonly #options: ReadinessRepairOptions;
  readonly #stopped = new AbortController();
  #cursor: number | null = null;
  #loop: Promise<void> | null = null;

  constructor(options: ReadinessRepairOptions) {
    this.#options = options;
  }

  start(): void {
    this.#loop ??= this.#run();
  }

  /** Resolves when a step in flight has ended. Safe before `start`, and repeatable. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#loop;
  }

  /** One step. Returns how long to rest before the next. */
  async runOnce(): Promise<number> {
    const { store, packId, everyMs, onRepaired } = this.#options;
    const { repaired, cursor } = await store.repairReadiness(packId, this.#cursor);
    this.#cursor = cursor;
    if (repaired > 0) onRepaired(repaired);
    return cursor === null ? everyMs : Math.min(STEP_EVERY_MS, everyMs);
  }

  async #run(): Promise<void> {
    const { clock, everyMs, onError } = this.#options;
    const { signal } = this.#stopped;
    let restMs = everyMs;
    while (!signal.aborted) {
      await clock.sleep(restMs, signal);
      if (signal.aborted) return;
      try {
        restMs = await this.runOnce();
      } catch (error) {
        restMs = everyMs;
        onError(error);
      }
    }
  }
}
