import type { Clock } from './clock.js';

/** What a request goes through, in this order. */
export const ADMISSION_STAGES = ['read', 'verify', 'draft', 'commit'] as const;
export type AdmissionStage = (typeof ADMISSION_STAGES)[number];

/** What an item goes through; `queue_wait` counts from when it was due to its claim, by the database's clock. */
export const DRAIN_STAGES = ['queue_wait', 'load', 'batch_read', 'flow', 'finalize'] as const;
export type DrainStage = (typeof DRAIN_STAGES)[number];

/** Milliseconds of the stages that were passed. */
export type StageTimes<Stage extends string> = Readonly<Partial<Record<Stage, number>>>;

/** Divides a way into its stages: a lap is what passed since the lap before, or since the start. */
export class Stopwatch<Stage extends string> {
  readonly startedAt: number;
  readonly #clock: Clock;
  readonly #times: Partial<Record<Stage, number>> = {};
  #lapAt: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.startedAt = clock.monotonic();
    this.#lapAt = this.startedAt;
  }

  get elapsedMs(): number {
    return this.#clock.monotonic() - this.startedAt;
  }

  get times(): StageTimes<Stage> {
    return this.#times;
  }

  lap(stage: Stage): void {
    const now = this.#clock.monotonic();
    this.#times[stage] = now - this.#lapAt;
    this.#lapAt = now;
  }

  /** For a stage that was measured by another clock. */
  note(stage: Stage, elapsedMs: number): void {
    this.#times[stage] = elapsedMs;
  }
}
