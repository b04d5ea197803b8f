/**
 * The order in which one store thread serves its askers. Heartbeats and outcomes first, then admission, then claims
 * and loading, then people: so leases never expire behind a flood, and a flood is admitted before more work is taken.
 *
 *   submit ─▶ queue of its class ─▶ one job each turn of the event loop, the first class that has one
 *
 * A turn lies between two jobs, so that what arrives meanwhile can overtake what waits, and timers run.
 * Two busy packs keep a commit of one waiting here while that of the other runs, so order alone would starve the
 * classes below admission: one that was passed over as often as its patience says goes next. Leases never wait.
 */
import type { NextTurn } from '../core/clock.js';

export const INBOX_CLASSES = ['leases', 'admission', 'claims', 'people'] as const;
export type InboxClass = (typeof INBOX_CLASSES)[number];

/** Jobs of the classes above it that a waiting class lets pass: one commit for a claim, a few jobs for people. */
const PATIENCE: Readonly<Partial<Record<InboxClass, number>>> = { claims: 1, people: 4 };

export class Inbox {
  readonly #queues: Readonly<Record<InboxClass, (() => void)[]>> = {
    leases: [],
    admission: [],
    claims: [],
    people: [],
  };
  readonly #passedOver: Record<InboxClass, number> = { leases: 0, admission: 0, claims: 0, people: 0 };
  readonly #nextTurn: NextTurn;
  #planned = false;

  constructor(nextTurn: NextTurn) {
    this.#nextTurn = nextTurn;
  }

  /** Runs `job` in its turn. What it does before its first `await` is not interrupted by another job. */
  submit<T>(inboxClass: InboxClass, job: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#queues[inboxClass].push(() => {
        job().then(resolve, reject);
      });
      this.#plan();
    });
  }

  get depth(): number {
    return INBOX_CLASSES.reduce((sum, name) => sum + this.#queues[name].length, 0);
  }

  #plan(): void {
    if (this.#planned) return;
    this.#planned = true;
    this.#nextTurn(() => {
      this.#planned = false;
      const next = this.#choose();
      if (next === undefined) return;
      this.#queues[next].shift()!();
      if (this.depth > 0) this.#plan();
    });
  }

  #choose(): InboxClass | undefined {
    const waiting = INBOX_CLASSES.filter((name) => this.#queues[name].length > 0);
    const [first] = waiting;
    if (first === undefined || first === 'leases') return first;
    const next = waiting.find((name) => this.#passedOver[name] >= (PATIENCE[name] ?? Infinity)) ?? first;
    for (const name of waiting) this.#passedOver[name] += 1;
    this.#passedOver[next] = 0;
    return next;
  }
}
