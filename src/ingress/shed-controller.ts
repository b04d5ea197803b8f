/**
 * Whether one more receipt of a namespace may get in line for its commit (ADM-2, PRS-1):
 *
 *              commits are full, or the oldest in line is older than targetMs
 *     open ──────────────────────────────────────────────────────────────────▶ saturated
 *      ▲                                                                           │
 *      └──── commits are not full, and the oldest is younger than a quarter of it ─┘
 *
 * saturated: the measured rate is what the store can take, so the line holds what is committed in targetMs, less for those
 * who are shed first. open: small commits say little about large ones, so the line may hold what would take burstMs at
 * the rate of small ones. In both a line that keeps commits full is let be, so that what the store can take is taken.
 * Pure: it is told the load and the commits, and holds no timer.
 */
import type { ShedPriority } from '../packs/types.js';
import type { ShedReason } from './decision.js';
import { ServiceRate } from './service-rate.js';

/** What waits for a durable commit, in the units of `ServiceRate`. */
export interface CommitLoad {
  /** In line, and in the commit in flight. */
  readonly units: number;
  readonly committingUnits: number;
  /** How long the commit in flight has been running; 0 without one. */
  readonly committingMs: number;
  /** Age of the oldest receipt; 0 without one. */
  readonly oldestMs: number;
}

/** Why the line of commits takes nobody in. */
type LineReason = Extract<ShedReason, 'commit_wait' | 'commit_queue_age'>;

export interface ShedSettings {
  /** How long who is admitted waits for his commit while more comes than the store can take. */
  readonly targetMs: number;
  /** The longest wait a burst may build up. */
  readonly burstMs: number;
  /** Units of a full commit. */
  readonly groupUnits: number;
}

/** The part of the target up to which each may fill the line: who is shed last still finds room where others do not. */
const SHARE: Readonly<Record<ShedPriority, number>> = { first: 0.5, normal: 0.75, last: 1 };
/** Groups behind the one that commits which each may fill, however slow commits are. */
const GROUPS: Readonly<Record<ShedPriority, number>> = { first: 1, normal: 1.5, last: 2 };
/** The part of a group from which on a commit counts as full: large bodies leave gaps. */
const FULL = 0.75;
/** Commits that the last one in those groups waits for. */
const COMMITS = 4;
/** Before anything was measured. */
const FIRST_GROUPS = 8;

export class ShedController {
  readonly rate = new ServiceRate();
  readonly #settings: ShedSettings;
  #isSaturated = false;

  constructor(settings: ShedSettings) {
    this.#settings = settings;
  }

  get isSaturated(): boolean {
    return this.#isSaturated;
  }

  /** Before the body is read. `null`: come in. */
  judge(priority: ShedPriority, units: number, load: CommitLoad): LineReason | null {
    this.#observe(load);
    const { targetMs, burstMs } = this.#settings;
    const limit = this.#limit(priority, load, this.#isSaturated ? targetMs : burstMs);
    return this.#verdict(limit, units, load);
  }

  /**
   * For who was let in and is verified by now: turned away only where the line has grown meanwhile beyond what a burst
   * may, since the work on the request is done.
   */
  judgeVerified(priority: ShedPriority, units: number, load: CommitLoad): LineReason | null {
    this.#observe(load);
    return this.#verdict(this.#limit(priority, load, this.#settings.burstMs), units, load);
  }

  /**
   * Units per millisecond at which those who are refused may come back; 0 when nothing was measured. Where commits are
   * not full yet, what a full one would do if it took no longer.
   */
  returnPerMs({ committingMs }: CommitLoad): number {
    const { rate } = this;
    const measured = rate.perMs(committingMs);
    if (this.#isFull || !rate.isMeasured) return measured;
    return Math.max(measured, this.#settings.groupUnits / rate.commitMs(committingMs));
  }

  get #isFull(): boolean {
    return this.rate.lastUnits >= this.#settings.groupUnits * FULL;
  }

  #verdict(limit: number, units: number, load: CommitLoad): LineReason | null {
    if (load.units === 0 || load.units + units <= limit) return null;
    return load.oldestMs > this.#settings.targetMs ? 'commit_queue_age' : 'commit_wait';
  }

  #observe({ oldestMs }: CommitLoad): void {
    const { targetMs } = this.#settings;
    if (this.#isFull || oldestMs > targetMs) this.#isSaturated = true;
    else if (oldestMs < targetMs / 4) this.#isSaturated = false;
  }

  #limit(priority: ShedPriority, { committingUnits, committingMs }: CommitLoad, waitMs: number): number {
    const { burstMs, groupUnits } = this.#settings;
    const { rate } = this;
    if (!rate.isMeasured && !this.#isSaturated) return FIRST_GROUPS * groupUnits * SHARE[priority];
    const inTime = rate.perMs(committingMs) * waitMs * SHARE[priority];
    if (rate.commitMs(committingMs) * COMMITS > burstMs) return inTime;
    // Twice the last group, so that groups grow to their full size where a commit costs the same for one as for many.
    const group = Math.min(groupUnits, 2 * Math.max(rate.lastUnits, committingUnits));
    return Math.max(inTime, committingUnits + group * GROUPS[priority]);
  }
}
