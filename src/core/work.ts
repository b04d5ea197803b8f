/**
 * WorkItem states. Terminal states are final; `held` is not terminal: it blocks its lane until a person decides.
 *
 *   pending ──claim──▶ processing ──▶ completed | skipped | dead | coalesced
 *      ▲                   │  └──────▶ held ──(retry)──▶ pending
 *      └──retry, release───┘             └──(skip, end)──▶ skipped | dead
 *   pending ──replaced or coalesced away──▶ coalesced
 */
export const WORK_ITEM_STATES = [
  'pending',
  'processing',
  'held',
  'completed',
  'skipped',
  'dead',
  'coalesced',
] as const;
export type WorkItemState = (typeof WORK_ITEM_STATES)[number];

export const QUEUE_CLASSES = ['interactive', 'default', 'bulk'] as const;
/** How urgent an item is; the unit of reservation (TRM-5). */
export type QueueClass = (typeof QUEUE_CLASSES)[number];

/** What a commit may have made claimable: a hint for the scheduler of its pack. */
export interface Enqueued {
  readonly packId: number;
  readonly queueClasses: readonly QueueClass[];
}

export const QUEUE_PROFILES = ['reserved', 'default-heavy'] as const;
/** How the executor slots of a pack are shared out between the classes (RSV-2, RSV-3). */
export type QueueProfile = (typeof QUEUE_PROFILES)[number];

export const INBOUND_WORK_TYPES = ['connector_event', 'workflow_action_apply'] as const;
/** The work types this runtime executes (SVC-1). Rows of any other type are never claimed. */
export type WorkType = (typeof INBOUND_WORK_TYPES)[number];

export type Ordering = 'source' | 'strict' | 'none';
export type OnDead = 'advance' | 'hold';
export type OnConflict = 'hold' | 'separate';
export type EventOrigin = 'webhook' | 'replay' | 'import';

export const ACTION_KINDS = ['replay', 'retry', 'skip', 'end', 'cancel', 'erase'] as const;
/** What a person may do to stored work. */
export type ActionKind = (typeof ACTION_KINDS)[number];

/**
 * A claim, as one value: every later change of the row is a compare-and-swap on `token` and `epoch` (OWN-5).
 * `untilMs` is the database's epoch time at which others may take the row over.
 */
export interface Lease {
  readonly workId: string;
  readonly token: string;
  readonly epoch: number;
  readonly untilMs: number;
}
