/**
 * Whose turn it is among the schedulers of a process whose namespaces share a limit of their pack. Who found no place
 * stands in line; when one is freed, the first in line scans before anybody else does.
 *
 *   scan ──no place──▶ in line ──a place is freed──▶ its turn ──its scan has ended──▶ out of line, and the next one's turn
 *                         ▲                              │
 *                         └─── no place: first in line ──┘ at once again, if a place was freed after its scan began
 *
 * A turn is a courtesy and bounded in time: the limit itself stays with the store.
 */
import type { Clock } from '../core/clock.js';
import { WaitList } from '../core/wait-list.js';

/** So long a scan lets others go first. */
const PATIENCE_MS = 100;

export interface TurnTaker {
  /** Scans now, if it can: false, when no slot of it waits or it may not scan yet. */
  takeTurn(): boolean;
}

export class LimitTurns {
  readonly #clock: Clock;
  #line: TurnTaker[] = [];
  #current: TurnTaker | null = null;
  /** The scan of the turn has begun after the last place was freed: what it finds holds. */
  #begun = false;
  readonly #waiting: WaitList;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#waiting = new WaitList(clock);
  }

  /** Some flow has ended, and its place is free. */
  freed(): void {
    this.#begun = false;
    if (this.#current === null) this.#callNext();
  }

  /** Resolves when nobody else's turn is on, or after `PATIENCE_MS`. */
  async mine(taker: TurnTaker): Promise<void> {
    const until = this.#clock.monotonic() + PATIENCE_MS;
    while (this.#current !== null && this.#current !== taker && this.#clock.monotonic() < until)
      await this.#waiting.wait(Math.max(0, until - this.#clock.monotonic()));
    if (this.#current === taker) this.#begun = true;
  }

  /** A scan has ended: it brought something, or the limit had no place for what it wants. */
  ended(taker: TurnTaker, { found, denied }: { readonly found: boolean; readonly denied: boolean }): void {
    const wasCurrent = this.#current === taker;
    if (wasCurrent) this.#current = null;
    // Nobody loses its place in line by a look in between.
    const place = wasCurrent ? -1 : this.#line.indexOf(taker);
    this.#forget(taker);
    if (denied && (found || (!wasCurrent && place < 0))) this.#line.push(taker);
    else if (denied) this.#line.splice(Math.max(place, 0), 0, taker);
    if (!wasCurrent) return;
    if (found || !denied || !this.#begun) this.#callNext();
    this.#waiting.releaseAll();
  }

  /** It scans no more; a turn of its own passes on. */
  leave(taker: TurnTaker): void {
    this.ended(taker, { found: false, denied: false });
  }

  #forget(taker: TurnTaker): void {
    this.#line = this.#line.filter((other) => other !== taker);
  }

  #callNext(): void {
    for (;;) {
      const [next] = this.#line;
      if (next === undefined) return;
      this.#forget(next);
      this.#current = next;
      this.#begun = false;
      if (next.takeTurn()) return;
      this.#current = null;
    }
  }
}
