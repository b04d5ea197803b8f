/** What a run of the product looks like from outside: told by senders, by flows and by rows. */

/** An item as its sender knows it; `lane` and `sequence` are the order the sender relies on. */
export interface SentItem {
  readonly item: string;
  readonly lane: string;
  readonly sequence: number;
  /** Of every 2xx answer, in the order they came; empty: never acknowledged. */
  readonly receipts: readonly string[];
  /** Where it may stand in the end, once acknowledged. Default: `completed` alone. */
  readonly ends?: readonly string[];
}

export interface StoredItem {
  readonly item: string;
  readonly receipt: string | null;
  readonly state: string;
}

/** One claim of one item. */
export interface Run {
  readonly item: string;
  readonly epoch: number;
  readonly process: string;
}

export type RunRecord =
  | ({ readonly kind: 'started' } & Run)
  /** `finished`: its work is done and only the report is missing. `aborted`: it gave up on purpose. */
  | ({ readonly kind: 'ended'; readonly how: 'finished' | 'aborted' } & Run)
  /** Nothing of the process acts any more. `stopped`: it had the time to report what had finished. */
  | { readonly kind: 'gone'; readonly process: string; readonly how: 'killed' | 'stopped' };

/** A row changed its state or its owner. Within a lane in the order in which it happened. */
export interface Transition {
  readonly item: string;
  readonly from: string;
  readonly to: string;
  /** After it. */
  readonly epoch: number;
  /** By the database's clock; the later reading, where that was set back meanwhile. */
  readonly at: number;
  /** Before it, by the database's clock. */
  readonly leaseUntil: number | null;
  /** Error code of the failure it counts; `null`: none. */
  readonly failure: string | null;
}

export interface History {
  readonly sent: readonly SentItem[];
  readonly stored: readonly StoredItem[];
  readonly runs: readonly RunRecord[];
  readonly transitions: readonly Transition[];
}

export type ViolationKind =
  | 'lost'
  | 'unexpected'
  | 'receipt_changed'
  | 'inversion'
  | 'overlap'
  | 'rerun'
  | 'double_completion'
  | 'revived'
  | 'stale_epoch'
  | 'stolen_lease'
  | 'completed_unrun'
  | SimulatedViolationKind;

/** What only somebody sees who sees every row at every moment, and into every process; see test/simulation. */
export type SimulatedViolationKind =
  /** Rows: a change that no state machine knows; an immutable column changed; ordinals do not rise. */
  | 'illegal_transition'
  | 'mutated'
  | 'ordinal'
  /** A claim before its time, or of an item that is not the head of all its lanes. */
  | 'premature'
  | 'lane_order'
  | 'processing_budget'
  | 'declared_limit'
  /** A claim that takes a class its slots may not run, or passes over what comes before. */
  | 'queue_class'
  | 'queue_order'
  | 'starved'
  /** Slots and permits: reserved and not used, used and not reserved; work that waits beside a free slot. */
  | 'phantom_permit'
  | 'idle_slot'
  /** Claims under pressure, and requests under load, that are let through or turned away against the rules. */
  | 'limiter'
  | 'admission'
  /** Failures, delays and ends that do not say what the run did. */
  | 'failure_count'
  | 'backoff'
  | 'wrong_outcome'
  | 'stale_token'
  | 'projection'
  | 'owner'
  | 'lost_mark'
  | 'statistics'
  /** A second child, or one that is not like its parent; an action that says something else than it did. */
  | 'replay'
  | 'action_log'
  /** Processes: answered before the commit; a flow beyond its deadline or its lease; a lease kept for the dead. */
  | 'early_answer'
  | 'deadline'
  | 'acting_past_lease'
  | 'needless_expiry'
  | 'left_behind'
  | 'renewed_dead'
  | 'two_scanners'
  /** A claim for a pack that is paused, or a scan by a process that knows it is, or that has it no more. */
  | 'out_of_service'
  | 'bug'
  /** Nothing is wrong any more, and still not everything ends. */
  | 'stuck';

export interface Violation {
  readonly kind: ViolationKind;
  readonly item: string;
  readonly why: string;
}

export const runKey = ({ item, epoch }: Pick<Run, 'item' | 'epoch'>): string => `${item}@${epoch}`;
