import type { ActionKind, Enqueued, WorkItemState } from '../core/work.js';
import type { ActionRecord } from './views.js';

/** What a person asks for, to be written down. */
export interface ActionRequest {
  /** 1 to 64 printable ASCII characters. The same request under the same id is the same action. */
  readonly actionId: string;
  readonly kind: ActionKind;
  /** Who acts, 1 to 128 characters. */
  readonly actor: string;
  /** Why, 1 to 2,000 characters. */
  readonly reason: string;
  /** What it is about, as JSON; equal requests have equal texts. */
  readonly target: string;
}

/**
 * `replay`: an ended item runs once more, as a new Event. Of held items `retry`: run again, with the whole budget;
 * `skip`, `end`: end `skipped` or `dead`, and the lane goes on. `cancel`: a pending item ends `skipped` and never runs.
 */
export type WorkAction = Exclude<ActionKind, 'erase'>;

/** Which items are meant: those for which everything that is given here holds. At least one thing is given. */
export interface WorkFilter {
  /** One Event. */
  readonly event?: string;
  /** One group of `listFailures`. */
  readonly fingerprint?: string;
  readonly namespace?: string;
  readonly pack?: string;
  readonly route?: string;
  readonly sourceKey?: string;
  /** Of a replay alone; needed there unless an Event is named. With a fingerprint: default `dead`. */
  readonly states?: readonly WorkItemState[];
  /** Received at this time or later; epoch milliseconds. */
  readonly since?: number;
  /** Received before this time; epoch milliseconds. */
  readonly until?: number;
}

export interface WorkRequest extends Omit<ActionRequest, 'kind' | 'target'> {
  readonly kind: WorkAction;
  readonly filter: WorkFilter;
}

export interface StepOptions {
  /** Most items that the step changes: 1 to 64, the default. */
  readonly limit?: number;
}

export interface ActionStep {
  /** As it stands after the step. */
  readonly action: ActionRecord;
  /** Items that this step changed. */
  readonly changed: number;
  /** What the step may have made claimable. */
  readonly enqueued: readonly Enqueued[];
}

export interface PreviewStep {
  readonly matched: number;
  /** Of these, what the action would leave as it is. */
  readonly skipped: number;
  /** Give it back to go on; `null`: that was all. */
  readonly position: string | null;
}
