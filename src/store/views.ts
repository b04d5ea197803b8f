import type { WorkError } from '../core/outcome.js';
import type { ActionKind, EventOrigin, QueueClass, WorkItemState } from '../core/work.js';

/** What people and their tools read of the store. */

export interface ClassStats {
  readonly ready: number;
  readonly delayed: number;
  readonly blocked: number;
  readonly queued: number;
  readonly processing: number;
  readonly stale: number;
  readonly held: number;
  readonly completed: number;
  readonly skipped: number;
  readonly dead: number;
  readonly coalesced: number;
  /** Age of the oldest ready item; `null`: none is ready. */
  readonly oldestReadyMs: number | null;
}

/** What tells whether a pack's queue keeps up, cheap enough to be asked for all the time. */
export interface QueueGauge {
  readonly packId: number;
  /** Rows in processing, over all processes; expired leases included. */
  readonly processing: number;
  readonly staleProcessing: number;
  /** Rows whose lane waits for a person. */
  readonly held: number;
  /** How long the first ready item of each class has been due; `null`: none is ready. */
  readonly oldestReadyMs: Readonly<Record<QueueClass, number | null>>;
}

export interface PackStats {
  readonly namespace: string;
  readonly pack: string;
  readonly generation: number;
  readonly classes: Readonly<Record<string, ClassStats>>;
}

export interface Stats {
  /** Epoch ms of the database. */
  readonly at: number;
  /** False: from the readiness marks, which are hints. True: by the claim's own predicate. */
  readonly exact: boolean;
  readonly packs: readonly PackStats[];
}

export interface Page<T> {
  readonly items: readonly T[];
  /** Opaque; give it back to go on. `null`: that was all. */
  readonly next: string | null;
}

export interface EventSummary {
  readonly id: string;
  readonly receipt: string | null;
  readonly namespace: string;
  readonly pack: string;
  readonly type: string;
  readonly sourceKey: string;
  readonly deliveryKey: string;
  readonly ordinal: number;
  readonly route: string;
  readonly routeVersion: number;
  readonly queueClass: string;
  readonly origin: EventOrigin;
  readonly parentId: string | null;
  readonly conflictOf: string | null;
  readonly receivedAt: number;
  readonly payloadSha256: string;
}

export interface WorkItemView {
  readonly workId: string;
  readonly workType: string;
  readonly state: WorkItemState;
  readonly attempt: number;
  readonly failures: number;
  readonly runAfter: number;
  readonly leaseUntil: number | null;
  readonly epoch: number;
  readonly laneKey: string | null;
  readonly laneOrdinal: number;
  readonly supersededBy: string | null;
  readonly lastError: WorkError | null;
}

export interface EventDetail {
  readonly event: EventSummary;
  /** What a replay made of it; replaying that makes the next one. `null`: it was not replayed. */
  readonly childId: string | null;
  readonly workItems: readonly WorkItemView[];
}

export interface EventFilter {
  readonly namespace?: string;
  readonly pack?: string;
  readonly state?: WorkItemState;
  readonly sourceKey?: string;
  readonly limit: number;
  readonly cursor?: string;
}

export interface ReceiptSummary {
  readonly id: string;
  readonly namespace: string;
  readonly pack: string;
  readonly route: string;
  readonly status: 'materialized' | 'quarantined';
  readonly events: number;
  readonly bodyBytes: number;
  readonly bodySha256: string;
  readonly receivedAt: number;
  readonly error: WorkError | null;
}

/** A stored request, whole: enough to verify and to materialize it again. */
export interface StoredReceipt extends ReceiptSummary {
  readonly packId: number;
  readonly method: string;
  readonly target: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Uint8Array;
  readonly verification: string;
}

export interface ReceiptFilter {
  readonly status?: 'materialized' | 'quarantined';
  readonly namespace?: string;
  readonly pack?: string;
  readonly limit: number;
  readonly cursor?: string;
}

/** One thing a person did: a line of the audit log. */
export interface ActionRecord {
  /** Its id. */
  readonly action: string;
  readonly kind: ActionKind;
  readonly actor: string;
  readonly reason: string;
  /** What it was about, as JSON. */
  readonly target: string;
  readonly status: 'running' | 'finished';
  /** Items it found, changed, and left as they were. */
  readonly matched: number;
  readonly changed: number;
  readonly skipped: number;
  readonly createdAt: number;
  /** `null`: it is not through. */
  readonly finishedAt: number | null;
}

/** Dead and held items whose errors have one fingerprint. */
export interface FailureGroup {
  readonly fingerprint: string;
  readonly namespace: string;
  readonly pack: string;
  readonly route: string;
  readonly code: string;
  /** What the messages have in common; what varies is `…`. */
  readonly message: string;
  /** Up to 10,000; what is more is not counted. */
  readonly count: number;
  /** When the first and the last of them failed. */
  readonly firstAt: number;
  readonly lastAt: number;
  /** The Event that failed last. */
  readonly sampleId: string;
}

export interface FailureFilter {
  readonly namespace?: string;
  readonly pack?: string;
  readonly limit: number;
  readonly cursor?: string;
}

export interface ActionFilter {
  readonly kind?: ActionKind;
  readonly status?: ActionRecord['status'];
  readonly limit: number;
  readonly cursor?: string;
}

export interface SchemaStatus {
  readonly applied: readonly { readonly id: string; readonly appliedAt: number }[];
  readonly pending: readonly string[];
  /** Migrations in the database that this binary does not know. */
  readonly unknown: readonly { readonly id: string; readonly additive: boolean }[];
}
