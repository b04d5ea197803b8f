import type { Clock } from './clock.js';

/** Those who wait for a word, each with a bound of its own; longest waiting first. */
export class WaitList {
  readonly #clock: Clock;
  readonly #waiting = new Set<() => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves when it is released, or after `mostMs`. */
  wait(mostMs: number): Promise<void> {
    return new Promise((resolve) => {
      const go = (): void => {
        cancel();
        this.#waiting.delete(go);
        resolve();
      };
      const cancel = this.#clock.after(mostMs, go);
      this.#waiting.add(go);
    });
  }

  releaseFirst(): void {
    const [first] = this.#waiting;
    first?.();
  }

  releaseAll(): void {
    for (const go of [...this.#waiting]) go();
  }
}
