/**
 * All time and all chance of a run. Nothing happens but the events in the queue, one after the other; after each,
 * everything that it made ready runs to its end before the next one begins:
 *
 *   earliest event ─▶ its thread is dead: dropped │ paused: put off │ else it fires ─▶ microtasks drain ─▶ next
 */
import type { Cancel } from '../../src/core/clock.js';
import type { Violation, ViolationKind } from '../support/history.js';
import { EventQueue } from './event-queue.js';
import { Seeded } from './seeded.js';
import { Trace } from './trace.js';

/** For whoever is gone. A new one each time: what waits for it must not keep its world alive. */
export const never = (): Promise<never> => new Promise(() => undefined);

/** Something that acts by itself: a thread of a process. */
export class Thread {
  readonly name: string;
  alive = true;
  pausedFrom = Number.NEGATIVE_INFINITY;
  pausedUntil = Number.NEGATIVE_INFINITY;

  constructor(name: string) {
    this.name = name;
  }
}

interface Event {
  at: number;
  readonly order: number;
  readonly thread: Thread | null;
  readonly fire: () => void;
  cancelled: boolean;
}

/** Real turns of the event loop in between, so that a rejection that nobody handles is reported while it is near. */
const EVENTS_PER_TURN = 512;

export class World {
  readonly trace: Trace;
  readonly random: Seeded;
  readonly violations: Violation[] = [];
  readonly #queue = new EventQueue<Event>();
  #now = 0;
  #order = 0;
  #events = 0;

  constructor(seed: number, onNote?: (line: string) => void) {
    this.trace = new Trace(onNote);
    this.random = new Seeded(seed, this.trace);
  }

  /** Milliseconds since the beginning, with fractions. */
  get now(): number {
    return this.#now;
  }

  get events(): number {
    return this.#events;
  }

  /** `thread` `null`: of the world itself, which is never paused. */
  after(delayMs: number, thread: Thread | null, fire: () => void): Cancel {
    const event = {
      at: this.#now + Math.max(0, delayMs),
      order: ++this.#order,
      thread,
      fire,
      cancelled: false,
    };
    this.#queue.push(event);
    return () => {
      event.cancelled = true;
    };
  }

  /** Never resolves when the thread dies before. */
  wait(delayMs: number, thread: Thread | null): Promise<void> {
    return new Promise((resolve) => {
      this.after(delayMs, thread, resolve);
    });
  }

  pause(thread: Thread, forMs: number): void {
    if (thread.pausedUntil <= this.#now) thread.pausedFrom = this.#now;
    thread.pausedUntil = Math.max(thread.pausedUntil, this.#now + forMs);
  }

  violation(kind: ViolationKind, item: string, why: string): void {
    this.trace.note(`violation ${kind} ${item} ${why}`);
    this.violations.push({ kind, item, why: `${why} (at ${this.#now.toFixed(1)} ms)` });
  }

  /** Runs until `isOver` or until nothing is left to happen. */
  run(isOver: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const next = (): void => {
        let goesOn = false;
        try {
          goesOn = !isOver() && this.#step();
        } catch (error) {
          reject(error);
        }
        if (!goesOn) resolve();
        else if (this.#events % EVENTS_PER_TURN === 0) setImmediate(next);
        // From a microtask: the tick comes after all microtasks that there are or will be, without a turn of the loop.
        else void Promise.resolve().then(() => process.nextTick(next));
      };
      setImmediate(next);
    });
  }

  #step(): boolean {
    for (let event = this.#queue.pop(); event !== undefined; event = this.#queue.pop()) {
      const { thread } = event;
      if (event.cancelled || thread?.alive === false) continue;
      if (thread !== null && thread.pausedUntil > event.at) {
        event.at = thread.pausedUntil;
        this.#queue.push(event);
        continue;
      }
      this.#now = event.at;
      this.#events++;
      this.trace.mixTime(event.at);
      event.fire();
      return true;
    }
    return false;
  }
}
