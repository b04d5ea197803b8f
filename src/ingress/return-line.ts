import type { Random } from '../core/random.js';

/** What of the measured rate is given to those who come back: the rest is for who comes for the first time. */
const RETURN_SHARE = 0.8;
/** Jitter may add a quarter, and then it is the 120 s of the contract. */
const LONGEST_MS = 96_000;
const MOST_SECONDS = 120;
/** Units per millisecond, where nothing was measured. */
const UNMEASURED_PER_MS = 0.1;

/**
 * When a refused sender is to come back: behind what waits and behind everybody who was refused before it, at the rate
 * at which commits go. Those who obey then come no faster than they can be served, so that no refusal is left in the end.
 */
export class ReturnLine {
  #until = 0;

  /**
   * Whole seconds, 1 to 120.
   * @param waitingUnits in line for their commit
   * @param units how much of the line the refused one takes: below 1 where few of its kind turn out genuine
   */
  next(nowMs: number, waitingUnits: number, perMs: number, units: number, random: Random): number {
    const rate = perMs > 0 ? perMs : UNMEASURED_PER_MS;
    const from = Math.max(this.#until, nowMs + waitingUnits / rate);
    this.#until = Math.min(from + units / (RETURN_SHARE * rate), nowMs + LONGEST_MS);
    return jittered(this.#until - nowMs, random);
  }
}

/** A quarter to either side, so that who was refused together does not come back together. */
export function jittered(delayMs: number, random: Random): number {
  const seconds = Math.ceil((delayMs / 1_000) * (0.75 + random.float() / 2));
  return Math.min(MOST_SECONDS, Math.max(1, seconds));
}
