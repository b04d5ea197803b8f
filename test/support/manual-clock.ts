import type { Cancel, Clock } from '../../src/core/clock.js';
import { systemClock } from '../../src/core/system.js';

interface Timer {
  readonly at: number;
  readonly fire: () => void;
}

/**
 * Time that stands still until a test moves it. `advance` lets timers fire, each at its own moment; `jump` moves
 * time without them, as a blocked event loop does.
 */
export class ManualClock implements Clock {
  readonly #startedAt = systemClock.now();
  readonly #timers = new Set<Timer>();
  #elapsedMs = 0;

  now(): number {
    return this.#startedAt + Math.floor(this.#elapsedMs);
  }

  monotonic(): number {
    return this.#elapsedMs;
  }

  /** Timers that wait. */
  get pending(): number {
    return this.#timers.size;
  }

  after(delayMs: number, fire: () => void): Cancel {
    const timer = { at: this.#elapsedMs + Math.max(0, delayMs), fire };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const cancel = this.after(delayMs, done);
      function done(): void {
        cancel();
        signal?.removeEventListener('abort', done);
        resolve();
      }
      signal?.addEventListener('abort', done, { once: true });
    });
  }

  jump(byMs: number): void {
    this.#elapsedMs += byMs;
  }

  /** Fires what falls due, in order; between two moments the event loop turns, so that its effects are in. */
  async advance(byMs: number): Promise<void> {
    const end = this.#elapsedMs + byMs;
    await turns();
    for (let timer = this.#next(end); timer !== undefined; timer = this.#next(end)) {
      this.#timers.delete(timer);
      this.#elapsedMs = Math.max(this.#elapsedMs, timer.at);
      timer.fire();
      await turns();
    }
    this.#elapsedMs = Math.max(this.#elapsedMs, end);
  }

  #next(end: number): Timer | undefined {
    const due = [...this.#timers].filter((timer) => timer.at <= end);
    return due.sort((a, b) => a.at - b.at)[0];
  }
}

const TURNS = 12;

/** Lets everything run that waits for nothing but the event loop. */
export async function turns(count: number = TURNS): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
}

const MAX_TURNS = 20_000;

/** Waits for a condition, not for time: as many turns as it takes, within a bound. */
export async function until(condition: () => boolean, what: string): Promise<void> {
  for (let turn = 0; turn < MAX_TURNS; turn++) {
    if (condition()) return;
    await turns(1);
  }
  throw new Error(`never happened: ${what}`);
}
