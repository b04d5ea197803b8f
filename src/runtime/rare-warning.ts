import type { Clock } from '../core/clock.js';

const REST_MS = 60_000;

/** A warning at the first time and then at most once a minute, with how often it was due since the one before. */
export class RareWarning {
  readonly #clock: Clock;
  readonly #warn: (times: number, fields: object) => void;
  #times = 0;
  /** Monotonic. */
  #quietUntil = 0;

  constructor(clock: Clock, warn: (times: number, fields: object) => void) {
    this.#clock = clock;
    this.#warn = warn;
  }

  /** @param fields of this time, which the line shows if it is written now */
  due(fields: object): void {
    this.#times += 1;
    const now = this.#clock.monotonic();
    if (now < this.#quietUntil) return;
    this.#warn(this.#times, fields);
    this.#times = 0;
    this.#quietUntil = now + REST_MS;
  }
}
