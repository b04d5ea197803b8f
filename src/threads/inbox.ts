/**
 * The order in which one store thread serves its askers. Heartbeats first, so that leases never expire behind a flood.
 * Then admission and all others take turns, so that a commit of admission waits for one of their jobs at most (ADM-4),
 * and a flood of it holds each of them up for one commit. Of the others outcomes come first, then claims and loading, then people.
 *
 *   submit ─▶ queue of its class ─▶ one job each turn of the event loop, of the class whose turn it is
 *
 * A turn lies between two jobs, so that what arrives meanwhile can overtake what waits, and timers run.
 * Order alone would starve the later ones of the others: one that was passed over as often as its patience says goes next.
 */
import type { NextTurn } from '../core/clock.js';

export const INBOX_CLASSES = ['leases', 'admission', 'outcomes', 'claims', 'people'] as const;
export type InboxClass = (typeof INBOX_CLASSES)[number];

/** The classes that share the turns between two commits of admission, first come first. */
const OTHERS = ['outcomes', 'claims', 'people'] as const;
type Other = (typeof OTHERS)[number];

/** Jobs of other classes than admission that a waiting class lets pass. */
const PATIENCE: Readonly<Record<Other, number>> = { outcomes: Infinity, claims: 1, people: 3 };

export class Inbox {
  readonly #queues: Readonly<Record<InboxClass, (() => void)[]>> = {
    leases: [],
    admission: [],
    outcomes: [],
    claims: [],
    people: [],
  };
  readonly #passedOver: Record<Other, number> = { outcomes: 0, claims: 0, people: 0 };
  /** The last job that was no heartbeat was one of admission. */
  #hasAdmitted = false;
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
    if (this.#queues.leases.length > 0) return 'leases';
    const others = OTHERS.filter((name) => this.#queues[name].length > 0);
    const admits = this.#queues.admission.length > 0 && (others.length === 0 || !this.#hasAdmitted);
    this.#hasAdmitted = admits;
    return admits ? 'admission' : this.#chooseOther(others);
  }

  #chooseOther(waiting: readonly Other[]): Other | undefined {
    const next = waiting.find((name) => this.#passedOver[name] >= PATIENCE[name]) ?? waiting[0];
    for (const name of waiting) this.#passedOver[name] += 1;
    if (next !== undefined) this.#passedOver[next] = 0;
    return next;
  }
}
