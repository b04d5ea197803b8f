/** Cancels what it was returned for. Calling it twice, or after the fact, does nothing. */
export type Cancel = () => void;

/**
 * All the time a part may see. Passed in everywhere, so that a simulation can own it: `Date.now`, bare timers
 * and `performance.now` are banned outside `system.ts` by lint.
 */
export interface Clock {
  /** Wall clock, epoch milliseconds, UTC. May jump. Never compare two of them inside one process: use `monotonic`. */
  now(): number;
  /** Milliseconds from an arbitrary origin; never goes back. */
  monotonic(): number;
  /** Runs `fire` once, `delayMs` from now (0 or less: as soon as possible).  */
  after(delayMs: number, fire: () => void): Cancel;
  /** Resolves after `delayMs`, or at once when `signal` aborts; never rejects. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
}

/**
 * Runs `fire` in the next turn of the event loop: after everything that is ready now, without a timer's
 * millisecond. What gathers a batch waits for it, so that all who finished in this turn are in.
 */
export type NextTurn = (fire: () => void) => void;
