import type { ErrorCode } from '../core/errors.js';

/** The codes of the error table that a sender can meet at the ingress. */
export type RefusalCode = Extract<
  ErrorCode,
  | 'bad_request'
  | 'invalid_signature'
  | 'handshake_refused'
  | 'unknown_route'
  | 'method_not_allowed'
  | 'request_timeout'
  | 'pack_retired'
  | 'payload_too_large'
  | 'unsupported_encoding'
  | 'headers_too_large'
  | 'internal'
  | 'overloaded'
  | 'store_unavailable'
  | 'commit_deadline'
  | 'paused'
  | 'draining'
>;

/**
 * How one request ended; each request counts once. Closed and low-cardinality, so that it can label a counter:
 * a refusal by its code, or
 * - `accepted`, `duplicate`, `conflict`, `quarantined`: stored (in that order of weakness, the last that holds);
 * - `handshake`: answered and not stored;
 * - `truncated`: the sender went away before its body was complete.
 */
export type AdmissionDecision =
  | 'accepted'
  | 'duplicate'
  | 'conflict'
  | 'quarantined'
  | 'handshake'
  | 'truncated'
  | RefusalCode;

/**
 * What there was too much of when a request was refused as `overloaded`:
 * - `requests`, `bytes`: its namespace's share of what may be in flight;
 * - `unverified`: the share of its route in what may be read and verified at one time;
 * - `commit_wait`: its commit would have to wait too long, at the measured rate of commits;
 * - `queue_age`: the same, and what waits is older than the target already.
 */
export type ShedReason = 'requests' | 'bytes' | 'unverified' | 'commit_wait' | 'queue_age';

/** @param shed `null` for every decision but `overloaded` */
export type DecisionObserver = (decision: AdmissionDecision, shed: ShedReason | null) => void;
