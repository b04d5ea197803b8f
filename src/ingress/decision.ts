import type { ErrorCode } from '../core/errors.js';
import type { AdmissionStage, StageTimes } from '../core/stopwatch.js';

/** The codes of the error table that a sender can meet at the ingress. */
export const REFUSAL_CODES = [
  'bad_request',
  'invalid_signature',
  'handshake_refused',
  'unknown_route',
  'method_not_allowed',
  'request_timeout',
  'pack_retired',
  'payload_too_large',
  'body_fragmented',
  'unsupported_encoding',
  'headers_too_large',
  'internal',
  'overloaded',
  'store_unavailable',
  'commit_deadline',
  'paused',
  'draining',
] as const satisfies readonly ErrorCode[];

export type RefusalCode = (typeof REFUSAL_CODES)[number];

/**
 * How one request ended; each request counts once. Closed and low-cardinality, so that it can label a counter:
 * a refusal by its code, or
 * - `accepted`, `duplicate`, `conflict`, `quarantined`: stored (in that order of weakness, the last that holds);
 * - `handshake`: answered and not stored;
 * - `truncated`: the sender went away before its body was complete.
 */
export const ADMISSION_DECISIONS = [
  'accepted',
  'duplicate',
  'conflict',
  'quarantined',
  'handshake',
  'truncated',
  ...REFUSAL_CODES,
] as const;

export type AdmissionDecision = (typeof ADMISSION_DECISIONS)[number];

/**
 * What there was too much of when a request was refused as `overloaded`:
 * - `requests`, `bytes`: its namespace's share of what may be in flight;
 * - `unverified`: the share of its route in what may be read and verified at one time;
 * - `commit_wait`: its commit would have to wait too long, at the measured rate of commits;
 * - `commit_queue_age`: the same, and what waits for its commit is older than the target already.
 */
export const SHED_REASONS = ['requests', 'bytes', 'unverified', 'commit_wait', 'commit_queue_age'] as const;

export type ShedReason = (typeof SHED_REASONS)[number];

/** What was measured about a decision; nothing in it was written by a sender. */
export interface DecisionDetails {
  /** Whose request it was; `null`: its URL names nothing that is served here. */
  readonly subject: { readonly namespace: string; readonly pack: string; readonly route: string } | null;
  /** Of a refusal for overload. */
  readonly shed: ShedReason | null;
  /** What it was stored as. */
  readonly receiptId: string | null;
  /** From the head of the request to the decision. */
  readonly elapsedMs: number;
  /** Of the stages that were passed. */
  readonly stages: StageTimes<AdmissionStage>;
}

/** Without details: nothing of the request was looked at, or its sender went away. */
export type DecisionObserver = (decision: AdmissionDecision, details?: DecisionDetails) => void;
