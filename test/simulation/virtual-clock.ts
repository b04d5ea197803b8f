import type { Cancel, Clock } from '../../src/core/clock.js';
import type { Seeded } from './seeded.js';
import type { Thread, World } from './world.js';

/** 2026-01-02T03:04:05Z */
export const EPOCH_MS = 1_767_323_045_000;

/** What a machine's clocks say to one thread: a wall clock that is off and may jump, and one that only goes on. */
export class VirtualClock implements Clock {
  readonly #world: World;
  readonly #thread: Thread;
  readonly #wall: { skewMs: number };
  readonly #originMs: number;
  readonly #lateness: () => number;

  /** `lateness`: by how much a timer is late. */
  constructor(
    world: World,
    thread: Thread,
    wall: { skewMs: number },
    originMs: number,
    lateness: () => number,
  ) {
    this.#world = world;
    this.#thread = thread;
    this.#wall = wall;
    this.#originMs = originMs;
    this.#lateness = lateness;
  }

  now(): number {
    return Math.floor(EPOCH_MS + this.#world.now + this.#wall.skewMs);
  }

  monotonic(): number {
    return this.#originMs + this.#world.now;
  }

  after(delayMs: number, fire: () => void): Cancel {
    // As Node has it: no timer is shorter than a millisecond.
    return this.#world.after(Math.max(1, delayMs) + this.#lateness(), this.#thread, fire);
  }

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const done = (): void => {
        cancel();
        signal?.removeEventListener('abort', done);
        resolve();
      };
      const cancel = this.after(delayMs, done);
      signal?.addEventListener('abort', done, { once: true });
    });
  }
}

export const drawnLateness = (random: Seeded, mostMs: number) => (): number =>
  mostMs === 0 ? 0 : random.float() * mostMs;
