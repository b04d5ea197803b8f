import type { Random } from '../../src/core/random.js';
import { seededRandom } from '../support/interleavings.js';
import type { Trace } from './trace.js';

/** Chance out of a seed. Streams of different names are independent, so that one more draw here moves nothing there. */
export class Seeded implements Random {
  readonly #seed: number;
  readonly #trace: Trace;
  readonly #next: () => number;

  constructor(seed: number, trace: Trace) {
    this.#seed = seed;
    this.#trace = trace;
    this.#next = seededRandom(seed);
  }

  stream(name: string): Seeded {
    let mixed = this.#seed ^ 0x9e3779b9;
    for (let i = 0; i < name.length; i++) mixed = Math.imul(mixed ^ name.charCodeAt(i), 0x01000193) >>> 0;
    return new Seeded(mixed, this.#trace);
  }

  float(): number {
    const drawn = this.#next();
    this.#trace.mix(drawn * 2 ** 32);
    return drawn;
  }

  bytes(count: number): Uint8Array {
    return Uint8Array.from({ length: count }, () => this.float() * 256);
  }

  chance(share: number): boolean {
    return this.float() < share;
  }

  /** A whole number, both ends included. */
  int(least: number, most: number): number {
    return least + Math.floor(this.float() * (most - least + 1));
  }

  between(least: number, most: number): number {
    return least + this.float() * (most - least);
  }

  pick<T>(choices: readonly T[]): T {
    return choices[Math.floor(this.float() * choices.length)]!;
  }
}
