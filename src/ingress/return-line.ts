import type { Random } from '../core/random.js';

/** What of the measured rate is given to those who come back: the rest is for who comes for the first time. */
const RETURN_SHARE = 0.8;
/** Jitter may add a quarter, and then it is the 120 s of the contract. */
const LONGEST_MS = 96_000;
const MOST_SECONDS = 120;
/** Units per millisecond, where nothing was measured: a slow disk, for a fast one is measured at once. */
const UNMEASURED_PER_MS = 0.5;

/**
 * When a refused sender is to come back: behind what waits and behind everybody who was refused before it, at the rate
 * at which commits go. Those who obey then come no faster than they can be served, so that no refusal is left in the end.
 */
export class ReturnLine {
  /** Units of those who were refused and are not back yet, as far as they obey. */
  #ahead = 0;
  #atMs = 0;

  /**
   * Whole seconds, 1 to 120.
   * @param waitingUnits in line for their commit
   * @param perMs units that are committed in a millisecond; 0: not known
   * @param units how much of the line the refused one takes: below 1 where few of its kind turn out genuine
   */
  next(nowMs: number, waitingUnits: number, perMs: number, units: number, random: Random): number {
    const rate = perMs > 0 ? perMs : UNMEASURED_PER_MS;
    const returning = RETURN_SHARE * rate;
    const back = (nowMs - this.#atMs) * returning;
    this.#ahead = Math.min(Math.max(0, this.#ahead - back) + units, LONGEST_MS * returning);
    this.#atMs = nowMs;
    return jittered(Math.min(LONGEST_MS, waitingUnits / rate + this.#ahead / returning), random);
  }
}

/** A quarter to either side, so that who was refused together does not come back together. */
export function jittered(delayMs: number, random: Random): number {
  const seconds = Math.ceil((delayMs / 1_000) * (0.75 + random.float() / 2));
  return Math.min(MOST_SECONDS, Math.max(1, seconds));
}
