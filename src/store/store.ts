/**
 * The Store contract: what the rest of the house may ask of a database, in the words of the domain.
 * Every verb is one transaction. Contention inside it is retried within a budget; what leaves is a result,
 * a `StoreOutage` (nothing is known to be stored, or exactly what an identical retry dedupes onto), or a bug.
 */

import type { LimitScope, Limits } from '../core/limits.js';
import type { Outcome, WorkError } from '../core/outcome.js';
import type {
  EventOrigin,
  Lease,
  OnConflict,
  OnDead,
  QueueClass,
  WorkItemState,
  WorkType,
} from '../core/work.js';
import type { DriverPressure, PoolGauge } from './driver.js';
import type {
  ActionFilter,
  ActionRecord,
  EventDetail,
  EventFilter,
  EventSummary,
  FailureFilter,
  FailureGroup,
  Page,
  QueueGauge,
  ReceiptFilter,
  ReceiptSummary,
  SchemaStatus,
  Stats,
  StoredReceipt,
} from './views.js';
import type { ActionStep, PreviewStep, StepOptions, WorkRequest } from './work-request.js';

export type { PoolGauge } from './driver.js';
export { AccessRefused, Contention, openingFailure, StoreOutage } from './failures.js';
export type * from './views.js';
export type * from './work-request.js';

// ── authority ────────────────────────────────────────────────────────────────────────────────────────────

export type PackStatus = 'active' | 'paused' | 'retired';

/** One row of `_System_InstalledPack`. `generation` is the pack's incarnation (TRM). */
export interface InstalledPack {
  readonly packId: number;
  readonly namespace: string;
  readonly pack: string;
  readonly version: string;
  readonly generation: number;
  readonly status: PackStatus;
}

export interface PackInstallation {
  readonly namespace: string;
  readonly pack: string;
  readonly version: string;
}

// ── admission ────────────────────────────────────────────────────────────────────────────────────────────

/** One verified HTTP request, as it will be stored. Bytes are as received. */
export interface ReceiptDraft {
  readonly receiptId: string;
  readonly route: string;
  readonly method: string;
  /** Path and query as received, without the host. */
  readonly target: string;
  /** As received, in order, without `authorization` and `cookie`. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Uint8Array;
  /** SHA-256 of `body`. */
  readonly bodyHash: Uint8Array;
  /** Scheme that verified it, for audit: `github`, `stripe`, … */
  readonly verification: string;
  readonly receivedAt: number;
  readonly onConflict: OnConflict;
  /** In delivery order. Empty is fine: a ping has a receipt and no Event. */
  readonly events: readonly EventDraft[];
  /** Set when `materialize` threw: the receipt is quarantined and `events` is empty. */
  readonly quarantine: WorkError | null;
  /** Identity of the request when no event carries one (no events, or quarantined): 32 bytes. */
  readonly requestKey: Uint8Array;
  /** The trace its Events' runs go on with: `traceparent`, and `tracestate` behind a space; at most 600 characters. */
  readonly traceContext?: string | null;
}

/** One Event with its `connector_event` WorkItem, before the commit. All keys are scoped digests (`core/identity`). */
export interface EventDraft {
  readonly eventId: string;
  readonly workId: string;
  readonly type: string;
  readonly sourceKey: string;
  readonly deliveryKey: string;
  readonly ordinal: number;
  readonly routeVersion: number;
  readonly queueClass: QueueClass;
  /** 32 bytes. */
  readonly idempotencyKey: Uint8Array;
  /** 32 bytes over everything that makes the fact: type, source, payload, companion, target, projection. */
  readonly contentHash: Uint8Array;
  /** `null`: the receipt's body. */
  readonly payload: Uint8Array | null;
  /** JSON text, or `null`. */
  readonly companion: string | null;
  readonly laneKey: string | null;
  readonly deliveryLaneKey: string | null;
  readonly targetLaneKey: string | null;
  /** `csp:…`, equal to `laneKey` when set. */
  readonly projectionKey: string | null;
  /** Epoch ms before which it must not run; `null`: due at once. */
  readonly runAfter: number | null;
  /** Failures it may have before it is dead, ≥ 1. */
  readonly failureBudget: number;
  readonly onDead: OnDead;
}

export interface MaterializeRequest {
  readonly packId: number;
  readonly namespace: string;
  readonly receipts: readonly ReceiptDraft[];
}

export interface MaterializeResult {
  /** This receipt's id, or the first one's for a duplicate. */
  readonly receiptId: string;
  /** Events this request stands for, duplicates included. */
  readonly events: number;
  /** Nothing new was stored: every event (or the request itself) was known with the same bytes. */
  readonly duplicate: boolean;
  /** At least one event had a known key and other bytes; it was stored apart. */
  readonly conflict: boolean;
  readonly quarantined: boolean;
}

/** The pack was paused or retired when its authority row was locked; nothing was stored. */
export interface MaterializeRefusal {
  readonly refused: 'paused' | 'retired';
}

// ── drain ────────────────────────────────────────────────────────────────────────────────────────────────

/** What a claim may touch. Applied before candidate limits and promotion (SVC-1). */
export interface ClaimScope {
  readonly packId: number;
  readonly generation: number;
  /** Empty means both inbound types, never "all" (SVC-3). */
  readonly claimWorkTypes: readonly WorkType[];
  /** Eligibility filter (QCL-1); empty means all classes. */
  readonly queueClasses: readonly QueueClass[];
}

/** Limits with the name that all installations of the pack share. */
export interface ClaimLimits extends Limits {
  readonly packName: string;
}

/** By route: its newest version that a process knows. */
export interface Runnable {
  readonly routes: Readonly<Record<string, number>>;
  /** A newer version of the pack is installed: a route that is not listed may be new in it. */
  readonly isBehind: boolean;
}

export interface ClaimRequest extends ClaimScope {
  /** Soft affinity (QCL-2); empty: the historical order. */
  readonly preference: readonly QueueClass[];
  /** ≥ 1. Fewer are claimed when the processing budget or the candidates run out. */
  readonly maxClaims: number;
  readonly leaseMs: number;
  /** Rows of the pack in processing, over all classes and processes, that may exist after this claim (DRN). */
  readonly processingBudget: number;
  /** `fresh`: new work only. `stale`: reclaim only, never falls back. `any`: reclaim first, then new work. */
  readonly mode: 'fresh' | 'stale' | 'any';
  /** What the pack declares for its flows; default: nothing. */
  readonly limits?: ClaimLimits | null;
  /** What the claimer can run; what it cannot is left to others (EXE-6), and is no start of a rate. Default: everything. */
  readonly runnable?: Runnable | null;
  /** Fresh random token of this claim. */
  readonly token: string;
  /**
   * A claim with this token failed without saying what it had done. What it claimed is adopted under a renewed lease.
   * Default false; the verb's own repeats do so by themselves.
   */
  readonly repeat?: boolean;
  /** Who claims, for people: host/pid/slot. Never decides anything. */
  readonly holder: string;
}

/** An item under lease. The claim fields a flow sees are synthesized from this (EXE-2). */
export interface ClaimedItem {
  readonly lease: Lease;
  readonly packId: number;
  readonly generation: number;
  readonly eventId: string;
  readonly workType: WorkType;
  readonly route: string;
  readonly routeVersion: number;
  readonly queueClass: QueueClass;
  readonly laneKey: string | null;
  readonly laneOrdinal: number;
  /** From when on it was due; epoch ms of the database. */
  readonly runAfter: number;
  /** Claims so far, this one included; only rises. */
  readonly attempt: number;
  readonly failures: number;
  readonly failureBudget: number;
  /** It was taken over from an expired lease. */
  readonly reclaimed: boolean;
}

export interface ClaimResult {
  readonly items: readonly ClaimedItem[];
  /** Rows of the pack in processing after this claim. */
  readonly processing: number;
  /** Of those, rows whose lease has expired and that this claim did not take. */
  readonly staleProcessing: number;
  /** Items ended by this claim: expired once too often. */
  readonly expired: number;
  /** Candidates that lost their CAS. */
  readonly misses: number;
  /** Milliseconds until the rates that the pack declares for all its flows let another one start; `null`: they do. */
  readonly limitedForMs: number | null;
  /** Limits of the pack that let this claim have less than it asked for; an idle queue may be all that was missed. */
  readonly limitedBy: readonly LimitScope[];
}

/** What a plain look finds; costs one or two short statements and changes nothing. */
export interface PeekResult {
  /** Something looks claimable now (ready, newly due, or stale). A hint. */
  readonly ready: boolean;
  /** Milliseconds until the next delayed item is due or the next lease expires; `null`: nothing is waiting for time. */
  readonly nextInMs: number | null;
}

export interface Finalization {
  readonly lease: Lease;
  readonly outcome: Outcome;
}

/** `state` after the verb; `lost`: token or epoch no longer match, nothing was changed (OWN-5). */
export type FinalizeResult =
  | {
      readonly workId: string;
      readonly lost: false;
      readonly state: WorkItemState;
      readonly failures: number;
    }
  | { readonly workId: string; readonly lost: true };

export interface RenewResult {
  /** Leases still held, with their new end. */
  readonly renewed: readonly Lease[];
  /** Work ids whose lease is gone. */
  readonly lost: readonly string[];
}

/** An immutable Event with what a flow may read of its receipt (EXE-2). */
export interface LoadedEvent {
  readonly eventId: string;
  readonly receiptId: string | null;
  readonly type: string;
  readonly sourceKey: string;
  readonly deliveryKey: string;
  readonly ordinal: number;
  readonly route: string;
  readonly routeVersion: number;
  readonly payload: Uint8Array;
  readonly headers: readonly (readonly [string, string])[];
  readonly companion: string | null;
  readonly receivedAt: number;
  readonly origin: EventOrigin;
  readonly parentId: string | null;
  /** Of its receipt, as it was stored; `null`: it was not traced. */
  readonly traceContext: string | null;
}

/**
 * What a worker needs, whole (SVC-2): supervisor-managed pools get exactly one of these and probe for nothing.
 */
export interface WorkItemService {
  /** True: claims honour `claimWorkTypes` before limits (SVC-3). A service without it is refused. */
  honorsClaimWorkTypes(): boolean;
  peek(scope: ClaimScope): Promise<PeekResult>;
  claim(request: ClaimRequest): Promise<ClaimResult>;
  /** Claims the item of one Event, or nothing; same predicates as `claim`. */
  claimForEvent(request: ClaimRequest, eventId: string): Promise<ClaimResult>;
  /** Stale takeover only (`mode: 'stale'`), oldest lease first. */
  reclaimStale(request: ClaimRequest): Promise<ClaimResult>;
  /** The incarnation that may claim now, or `null` when the pack is not active. */
  resolveActiveGeneration(packId: number): Promise<number | null>;
  loadEvent(eventId: string): Promise<LoadedEvent | null>;
  /** In the order asked; a missing Event is `null`. */
  loadEvents(eventIds: readonly string[]): Promise<readonly (LoadedEvent | null)[]>;
  /** Applies outcomes together; one item's lost lease undoes no other's work. `failed` goes through failWorkItem (EXE-4). */
  finalize(batch: readonly Finalization[]): Promise<readonly FinalizeResult[]>;
  renew(leases: readonly Lease[], leaseMs: number): Promise<RenewResult>;
}

// ── the whole ────────────────────────────────────────────────────────────────────────────────────────────

export const POOL_NAMES = ['drain', 'admission', 'shared'] as const;
export type PoolGauges = { readonly [Name in (typeof POOL_NAMES)[number]]?: PoolGauge };

/** How hard the store is pressed, from what was measured in passing. What an engine does not have is `null`. */
export interface StorePressure extends DriverPressure {
  /** Calls that wait for the store thread. */
  readonly inboxDepth: number | null;
}

export interface Store extends WorkItemService {
  readonly engine: 'sqlite' | 'mysql';

  /** Creates namespaces and packs that are absent; a newer version raises the generation (reinstall). */
  installPacks(installations: readonly PackInstallation[]): Promise<readonly InstalledPack[]>;
  listPacks(): Promise<readonly InstalledPack[]>;
  setPackStatus(packId: number, status: PackStatus): Promise<InstalledPack>;

  /** MAT: receipts, Events and WorkItems in one transaction under the authority locks. Results in request order. */
  materialize(request: MaterializeRequest): Promise<readonly MaterializeResult[] | MaterializeRefusal>;
  /** Attaches events to a quarantined receipt after a fix; refuses one that is not quarantined. */
  rematerialize(request: MaterializeRequest): Promise<readonly MaterializeResult[] | MaterializeRefusal>;

  /** One bounded step of the sweep for lost readiness marks, from `cursor` on; `null`: the sweep is through. */
  repairReadiness(
    packId: number,
    cursor: number | null,
  ): Promise<{ repaired: number; cursor: number | null }>;

  /** One bounded step of the look for Events without a WorkItem, from `cursor` on; `null`: it is through. */
  coverageStep(cursor: string | null): Promise<{ gaps: number; cursor: string | null }>;

  /** One bounded step of what a person asks for; the same request again goes on, until its action is finished. */
  act(request: WorkRequest, options?: StepOptions): Promise<ActionStep>;
  /** One bounded step of a look at what a request is about, from `position` on; `null`: from the beginning. */
  preview(request: Pick<WorkRequest, 'kind' | 'filter'>, position: string | null): Promise<PreviewStep>;
  /** Dead and held work that nobody has decided on, in groups of one cause each. */
  listFailures(filter: FailureFilter): Promise<Page<FailureGroup>>;

  stats(options: { exact: boolean }): Promise<Stats>;
  /** One for each of these packs that is installed, in no order. */
  queueGauges(packIds: readonly number[]): Promise<readonly QueueGauge[]>;
  listEvents(filter: EventFilter): Promise<Page<EventSummary & { readonly state: WorkItemState | null }>>;
  showEvent(eventId: string): Promise<EventDetail | null>;
  listReceipts(filter: ReceiptFilter): Promise<Page<ReceiptSummary>>;
  loadReceipt(receiptId: string): Promise<StoredReceipt | null>;
  /** What people did, newest first: the audit log. */
  listActions(filter: ActionFilter): Promise<Page<ActionRecord>>;

  schemaStatus(): Promise<SchemaStatus>;
  migrate(): Promise<{ readonly applied: readonly string[] }>;
  /** Answered beside the queue of other calls, without a statement. */
  pressure(): Promise<StorePressure>;
  /** The same for the connections: `drain` and `admission`, or `shared` by both; nothing where there is no pool. */
  pools(): Promise<PoolGauges>;
  /** One short statement; rejects with `StoreOutage` when the database cannot be reached. */
  ping(): Promise<void>;
  /** Idempotent; later calls of other verbs reject. */
  close(): Promise<void>;
}
