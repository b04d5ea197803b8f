import type { World } from './world.js';

/** Longer than this, waiting for others is a hardship. */
const SOON_MS = 30;

/** When each process last stood still or was badly served: what excuses a lease that ran out in its hands. */
export class Hardships {
  readonly #world: World;
  readonly #until = new Map<string, number>();
  /** Who waits for others, and since when. */
  readonly #waits = new Set<{ readonly process: string; readonly since: number }>();
  #everybodyUntil = Number.NEGATIVE_INFINITY;

  constructor(world: World) {
    this.#world = world;
  }

  /** Of one process, from now on for so long. */
  befall(process: string, forMs = 0): void {
    this.#until.set(process, Math.max(this.#until.get(process) ?? 0, this.#world.now + forMs));
  }

  befallAll(forMs: number): void {
    this.#everybodyUntil = Math.max(this.#everybodyUntil, this.#world.now + forMs);
  }

  /** From now on it waits for others, until the function returned is called. */
  waits(process: string): () => void {
    const wait = { process, since: this.#world.now };
    this.#waits.add(wait);
    return () => {
      this.#waits.delete(wait);
      if (this.#isLong(wait.since)) this.befall(process);
    };
  }

  /** When the last of it was over, `now` while it lasts; of the world. */
  lastOf(process: string): number {
    for (const wait of this.#waits) {
      if (wait.process === process && this.#isLong(wait.since)) return this.#world.now;
    }
    return Math.max(this.#until.get(process) ?? Number.NEGATIVE_INFINITY, this.#everybodyUntil);
  }

  #isLong(since: number): boolean {
    return this.#world.now - since > SOON_MS;
  }
}
