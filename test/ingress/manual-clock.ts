import type { Clock } from '../../src/core/clock.js';
import { systemClock } from '../../src/core/system.js';

/** A clock that stands still until it is told to go on. `now` starts at the machine's, so that signatures are fresh. */
export class ManualClock implements Clock {
  #elapsedMs = 0;
  readonly #start = systemClock.now();
  readonly #timers = new Set<{ readonly atMs: number; readonly fire: () => void }>();

  now(): number {
    return this.#start + this.#elapsedMs;
  }

  monotonic(): number {
    return this.#elapsedMs;
  }

  /** What is due at once does not wait for `advance`: so a server is always closed, however a test ends. */
  after(delayMs: number, fire: () => void): () => void {
    if (delayMs <= 0) {
      queueMicrotask(fire);
      return () => {};
    }
    const timer = { atMs: this.#elapsedMs + delayMs, fire };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  sleep(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.after(delayMs, resolve);
    });
  }

  get waiting(): number {
    return this.#timers.size;
  }

  /** Fires what is due, in order of time. */
  advance(byMs: number): void {
    this.#elapsedMs += byMs;
    const due = [...this.#timers].filter((timer) => timer.atMs <= this.#elapsedMs);
    for (const timer of due.sort((a, b) => a.atMs - b.atMs)) {
      if (this.#timers.delete(timer)) timer.fire();
    }
  }
}
