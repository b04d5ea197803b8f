/** What kept each process from acting: the only excuses for a lease that runs out in its hands. */
import type { World } from './world.js';

/** Longer than this, waiting is a hardship. */
const SOON_MS = 30;
const NEVER = Number.NEGATIVE_INFINITY;

/** Of one kind of asking: when it last took long, and when it last failed. All times of the world. */
class Troubles {
  readonly #world: World;
  readonly #until = new Map<string, number>();
  readonly #failedAt = new Map<string, number>();
  readonly #waits = new Set<{ readonly process: string; readonly since: number }>();

  constructor(world: World) {
    this.#world = world;
  }

  lasts(process: string, forMs: number): void {
    this.#until.set(process, Math.max(this.#until.get(process) ?? NEVER, this.#world.now + forMs));
  }

  fails(process: string): void {
    this.#failedAt.set(process, this.#world.now);
  }

  /** It waits from now on, until the function returned is called. */
  waits(process: string): () => void {
    const wait = { process, since: this.#world.now };
    this.#waits.add(wait);
    return () => {
      this.#waits.delete(wait);
      if (this.#isLong(wait.since)) this.lasts(process, 0);
    };
  }

  /** When it last took long; `now` while it does. */
  lastWaitOf(process: string): number {
    for (const wait of this.#waits) {
      if (wait.process === process && this.#isLong(wait.since)) return this.#world.now;
    }
    return this.#until.get(process) ?? NEVER;
  }

  lastOf(process: string): number {
    return Math.max(this.lastWaitOf(process), this.#failedAt.get(process) ?? NEVER);
  }

  #isLong(since: number): boolean {
    return this.#world.now - since > SOON_MS;
  }
}

export class Hardships {
  /** Of whatever it asks of the database. */
  readonly statements: Troubles;
  /** Of its renewals alone. */
  readonly renewals: Troubles;

  constructor(world: World) {
    this.statements = new Troubles(world);
    this.renewals = new Troubles(world);
  }

  /** It stands still, or finds no database, whatever it wants. */
  stands(process: string, forMs: number): void {
    this.statements.lasts(process, forMs);
    this.renewals.lasts(process, forMs);
  }
}
