/**
 * What a pack author writes and what the house sees of it. `definePack` (define-pack.ts) turns the first into the
 * second, once, frozen.
 */

import type { Limits } from '../core/limits.js';
import type { RetryPolicy } from '../core/retry.js';
import type { EventOrigin, OnConflict, OnDead, Ordering, QueueClass } from '../core/work.js';

// ── the request, before and after verification ───────────────────────────────────────────────────────────

/** An HTTP request as a signature scheme sees it: raw bytes, not yet trusted. */
export interface UnverifiedRequest {
  readonly namespace: string;
  readonly pack: string;
  readonly route: string;
  readonly method: string;
  /** Path and query exactly as received. */
  readonly target: string;
  readonly query: URLSearchParams;
  /** Case-insensitive; several values of one name are joined with `, `. `undefined` when absent. */
  header(name: string): string | undefined;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Uint8Array;
  /** Epoch ms. */
  readonly receivedAt: number;
}

declare const verified: unique symbol;

/**
 * A request whose signature was checked; only `verify` makes one. What `materialize` gets: pure accessors over
 * the received bytes.
 */
export interface Receipt extends UnverifiedRequest {
  readonly [verified]: true;
  readonly verification: string;
  /** The body as UTF-8 text. */
  text(): string;
  /** The body as JSON; `__proto__` and `constructor.prototype` keys are dropped. Throws on broken JSON. */
  json(): unknown;
  /** The body as `application/x-www-form-urlencoded`. */
  form(): URLSearchParams;
}

export interface SecretScope {
  readonly namespace: string;
  readonly pack: string;
  readonly route: string;
}

/** One secret, several (rotation: each is accepted), or a function of the namespace. Never empty. */
export type SecretSource =
  | string
  | readonly string[]
  | ((scope: SecretScope) => string | readonly string[] | undefined);

/** What a handshake answers; it never becomes a receipt. */
export interface HandshakeAnswer {
  readonly status: number;
  readonly body: string;
  readonly contentType: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export type Verification =
  | { readonly kind: 'verified' }
  | { readonly kind: 'handshake'; readonly answer: HandshakeAnswer }
  /** `reason` goes to counters and logs, never to the sender. */
  | { readonly kind: 'refused'; readonly status: 401 | 403; readonly reason: string };

/** Who is refused first when more comes than can be stored. */
export type ShedPriority = 'first' | 'normal' | 'last';

/** A signature scheme with its handshakes. Synchronous and constant-time in its comparison. */
export interface SignatureScheme {
  readonly name: string;
  /** False: it is known that this provider does not send again by itself what was refused. */
  readonly redelivers?: boolean;
  /** The largest body of a POST that may be a handshake; left out: no POST is one. */
  readonly handshakeBytes?: number;
  /** Methods a route with this scheme answers; `POST`, and `GET` where a handshake needs it. */
  readonly methods: readonly string[];
  /** Called once at start for each namespace; throws `invalid_configuration` when a secret is undefined or empty. */
  prepare(scope: SecretScope): void;
  verify(request: UnverifiedRequest): Verification;
}

// ── what materialize returns ─────────────────────────────────────────────────────────────────────────────

export interface EventInput {
  readonly type: string;
  /** What the order is kept for: a repository, a contact, an account. */
  readonly sourceKey: string;
  /** Default `default`. */
  readonly queueClass?: QueueClass;
  /** Default: the delivery key and the event's place in it. */
  readonly idempotencyKey?: string | readonly string[];
  /** Default: the request's body. A string is stored as UTF-8. */
  readonly payload?: Uint8Array | string;
  /** JSON that travels with the event. */
  readonly companion?: unknown;
  readonly targetKey?: string;
  readonly projectionKey?: string;
  /** Not before: a Date, or epoch milliseconds. */
  readonly runAfter?: Date | number;
}

export interface DeliveryInput {
  /** The provider's delivery id. Required, not empty. */
  readonly key: string | undefined;
  readonly events: readonly EventInput[];
}

export interface MaterializeOutput {
  readonly deliveries: readonly DeliveryInput[];
}

// ── what a flow gets ─────────────────────────────────────────────────────────────────────────────────────

export interface FlowEvent {
  readonly id: string;
  readonly namespace: string;
  readonly type: string;
  readonly sourceKey: string;
  readonly deliveryKey: string;
  readonly ordinal: number;
  readonly payload: Uint8Array;
  /** The payload as JSON, by the same safe parse as `Receipt.json`. */
  json(): unknown;
  readonly headers: Readonly<Record<string, string>>;
  readonly companion: unknown;
  readonly receivedAt: Date;
  readonly origin: EventOrigin;
  readonly parentId: string | null;
}

export interface FlowLog {
  debug(message: string, fields?: Readonly<Record<string, unknown>>): void;
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
  error(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

export interface BatchReadContext {
  readonly namespace: string;
  /** Aborts at the flow deadline and when a lease of the batch is about to be lost. */
  readonly signal: AbortSignal;
  readonly log: FlowLog;
}

export interface FlowContext<Prefetched = unknown> {
  readonly workId: string;
  /** Claims so far, this one included. */
  readonly attempt: number;
  readonly epoch: number;
  /** Aborts at the deadline, at stop, and before the lease could be lost. Pass it to every call you make. */
  readonly signal: AbortSignal;
  /** What `batchRead` returned for the batch this event was claimed in; `undefined` without `batchRead`. */
  readonly prefetched: Prefetched;
  readonly log: FlowLog;
  /** Ends this run as a failure that is due again in `ms` (a provider's Retry-After). Counts against the budget. */
  retryAfter(ms: number): never;
  /** Ends the item as `skipped`: nothing to do, on purpose. */
  skip(why: string): never;
  /** Ends the item as `dead` now, whatever is left of its budget. */
  dead(why: string): never;
}

// ── the pack, as written ─────────────────────────────────────────────────────────────────────────────────

export interface RouteInput<Prefetched = unknown> {
  /** Raise it when stored events of older versions need another flow; ≥ 1. */
  readonly version: number;
  readonly verify: SignatureScheme;
  /** Default `source`. */
  readonly ordering?: Ordering;
  /** Default `none`. */
  readonly coalesce?: 'none' | 'latest_by_source';
  /** Synchronous and pure: the same receipt always gives the same events. */
  readonly materialize: (receipt: Receipt) => MaterializeOutput;
  readonly retry?: Partial<RetryPolicy>;
  /** Default `advance`. */
  readonly onDead?: OnDead;
  /** Default `hold`. */
  readonly onConflict?: OnConflict;
  /** Default: the process's limit. */
  readonly maxBodyBytes?: number;
  /** Under overload. Default `last` where the provider is known not to redeliver (GitHub), else `normal`. */
  readonly shed?: ShedPriority;
  /** What the provider wants to see instead of the default answer; only for 2xx. */
  readonly ack?: { readonly status: number; readonly body: string; readonly contentType: string };
  readonly batchRead?: (
    events: readonly FlowEvent[],
    ctx: BatchReadContext,
  ) => Promise<Prefetched> | Prefetched;
  readonly flow: (event: FlowEvent, ctx: FlowContext<Prefetched>) => Promise<void> | void;
}

/** At least one of the two. */
export interface LimitInput {
  /** At most `count` starts in `perMs` milliseconds, evenly spread; after a pause `burst` (default 1) may follow at once. */
  readonly rate?: { readonly count: number; readonly perMs: number; readonly burst?: number };
  /** Flows that run at once. */
  readonly concurrency?: number;
}

/**
 * What the provider's API allows the flows of a pack, over all processes. What is over a limit waits in the queue: it
 * holds no executor, keeps its order, and costs nothing of its budget of failures.
 */
export interface LimitsInput {
  /** Over all namespaces: a quota of the application. */
  readonly pack?: LimitInput;
  /** In each namespace: a quota of the tenant. */
  readonly namespace?: LimitInput;
  /** For each source key of a namespace. */
  readonly source?: LimitInput;
}

export interface PackInput {
  /** Lower-case letters, digits, `-` and `_`; 1 to 64; part of the URL. */
  readonly name: string;
  /** Semantic version. */
  readonly version: string;
  readonly limits?: LimitsInput;
  readonly routes: Readonly<Record<string, RouteInput<never>>>;
}

// ── the pack, as the house sees it: every default filled in, frozen ──────────────────────────────────────

export interface Route {
  readonly name: string;
  readonly version: number;
  readonly verify: SignatureScheme;
  readonly ordering: Ordering;
  readonly coalesce: 'none' | 'latest_by_source';
  readonly materialize: (receipt: Receipt) => MaterializeOutput;
  readonly retry: RetryPolicy;
  readonly onDead: OnDead;
  readonly onConflict: OnConflict;
  /** Bytes; `null`: the process's limit. */
  readonly maxBodyBytes: number | null;
  readonly shed: ShedPriority;
  readonly ack: { readonly status: number; readonly body: string; readonly contentType: string } | null;
  readonly batchRead: ((events: readonly FlowEvent[], ctx: BatchReadContext) => unknown) | null;
  readonly flow: (event: FlowEvent, ctx: FlowContext<unknown>) => Promise<void> | void;
}

export interface Pack {
  readonly name: string;
  readonly version: string;
  readonly limits: Limits | null;
  readonly routes: ReadonlyMap<string, Route>;
}
