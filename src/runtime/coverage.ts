import type { Clock } from '../core/clock.js';
import { LaneheadError } from '../core/errors.js';
import type { Store } from '../store/store.js';

const REST_MS = 20;
/** Between two looks at a gap that is still open, and two tries at a store that fails: at first, and at most. */
const MIN_BACK_OFF_MS = 1_000;
const MAX_BACK_OFF_MS = 60_000;

const backOff = (restMs: number): number => Math.min(MAX_BACK_OFF_MS, Math.max(MIN_BACK_OFF_MS, 2 * restMs));

/** A step that found Events without a WorkItem. */
interface Gap {
  readonly from: string | null;
  events: number;
}

/**
 * Looks once, in the background and in bounded steps, for Events without a WorkItem: such an Event would wait for
 * ever. This version writes both in one commit, so only older writers leave any. A step that found some is taken
 * again until it finds none.
 */
export class CoverageSweep {
  readonly #store: Pick<Store, 'coverageStep'>;
  readonly #clock: Clock;
  readonly #onError: (error: unknown) => void;
  readonly #closed = new AbortController();
  readonly #gaps: Gap[] = [];

  constructor(store: Pick<Store, 'coverageStep'>, clock: Clock, onError: (error: unknown) => void) {
    this.#store = store;
    this.#clock = clock;
    this.#onError = onError;
  }

  /** Rejects while Events without a WorkItem are known. */
  readonly check = async (): Promise<void> => {
    const events = this.#gaps.reduce((sum, gap) => sum + gap.events, 0);
    if (events > 0) throw new LaneheadError('coverage_gap', `${events} Events have no WorkItem`);
  };

  /** Resolves when everything is covered, or after `close`; never rejects. */
  async run(): Promise<void> {
    await this.#sweep();
    await this.#lookAgain();
  }

  close(): void {
    this.#closed.abort();
  }

  async #sweep(): Promise<void> {
    let from: string | null = null;
    do {
      const { gaps, cursor } = await this.#step(from);
      if (gaps > 0) this.#gaps.push({ from, events: gaps });
      from = cursor;
      await this.#rest(REST_MS);
    } while (from !== null);
  }

  async #lookAgain(): Promise<void> {
    let restMs = MIN_BACK_OFF_MS;
    for (let gap = this.#gaps[0]; gap !== undefined && !this.#closed.signal.aborted; gap = this.#gaps[0]) {
      await this.#rest(restMs);
      const { gaps } = await this.#step(gap.from);
      restMs = gaps < gap.events ? REST_MS : backOff(restMs);
      gap.events = gaps;
      if (gaps === 0) this.#gaps.shift();
    }
  }

  /** Waits until the store answers; once closed there is nothing to find. */
  async #step(from: string | null): Promise<{ readonly gaps: number; readonly cursor: string | null }> {
    for (let restMs = MIN_BACK_OFF_MS; !this.#closed.signal.aborted; restMs = backOff(restMs)) {
      try {
        return await this.#store.coverageStep(from);
      } catch (error) {
        this.#onError(error);
      }
      await this.#rest(restMs);
    }
    return { gaps: 0, cursor: null };
  }

  #rest(restMs: number): Promise<void> {
    return this.#clock.sleep(restMs, this.#closed.signal);
  }
}
