/**
 * Whether one more receipt of a namespace may get in line for its commit (ADM-2, PRS-1):
 *
 *              the oldest in line is older than targetMs
 *     open ──────────────────────────────────────────────▶ shedding
 *      ▲                                                      │
 *      └──── the oldest is younger than a quarter of that ────┘
 *
 * open: a burst may wait, as long as burstMs would do to commit it. shedding: the line stands, so it is cut to what is
 * committed in targetMs, less for those who are shed first. In both a line that keeps commits full is let be, so that
 * what the store can take is taken. Pure: it is told the load and the commits, and holds no timer.
 */
import type { ShedPriority } from '../packs/types.js';
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
/** Commits that the last one in those groups waits for. */
const COMMITS = 4;
/** Before anything was measured. */
const FIRST_GROUPS = 8;

export class ShedController {
  readonly rate = new ServiceRate();
  readonly #settings: ShedSettings;
  #isShedding = false;

  constructor(settings: ShedSettings) {
    this.#settings = settings;
  }

  get isShedding(): boolean {
    return this.#isShedding;
  }

  /** Before the body is read. `null`: come in. */
  judge(priority: ShedPriority, units: number, load: CommitLoad): 'commit_wait' | 'queue_age' | null {
    this.#observe(load);
    const { targetMs, burstMs } = this.#settings;
    const limit = this.#limit(priority, load, this.#isShedding ? targetMs : burstMs);
    if (load.units === 0 || load.units + units <= limit) return null;
    return this.#isShedding ? 'queue_age' : 'commit_wait';
  }

  /**
   * For who was let in and is verified by now: turned away only where the line has grown meanwhile beyond what a burst
   * may, since the work on the request is done.
   */
  judgeVerified(priority: ShedPriority, units: number, load: CommitLoad): 'commit_wait' | null {
    this.#observe(load);
    const limit = this.#limit(priority, load, this.#settings.burstMs);
    return load.units === 0 || load.units + units <= limit ? null : 'commit_wait';
  }

  #observe({ oldestMs }: CommitLoad): void {
    const { targetMs } = this.#settings;
    if (oldestMs > targetMs) this.#isShedding = true;
    else if (oldestMs < targetMs / 4) this.#isShedding = false;
  }

  #limit(priority: ShedPriority, { committingUnits, committingMs }: CommitLoad, waitMs: number): number {
    const { burstMs, groupUnits } = this.#settings;
    const { rate } = this;
    if (!rate.isMeasured && !this.#isShedding) return FIRST_GROUPS * groupUnits * SHARE[priority];
    const inTime = rate.perMs(committingMs) * waitMs * SHARE[priority];
    if (rate.commitMs(committingMs) * COMMITS > burstMs) return inTime;
    // Twice the last group, so that groups grow to their full size where a commit costs the same for one as for many.
    const group = Math.min(groupUnits, 2 * Math.max(rate.lastUnits, committingUnits));
    return Math.max(inTime, committingUnits + group * GROUPS[priority]);
  }
}
