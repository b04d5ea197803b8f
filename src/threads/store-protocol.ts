import type { MessagePort } from 'node:worker_threads';
import { type ErrorCode, LaneheadError } from '../core/errors.js';
import { AccessRefused, StoreOutage } from '../store/driver.js';
import type { Store } from '../store/store.js';
import type { InboxClass } from './inbox.js';

/** The verbs that travel, and the class each waits in; `beside`: none, it is answered at once. */
export const VERBS = {
  renew: 'leases',
  finalize: 'outcomes',
  materialize: 'admission',
  rematerialize: 'admission',
  claim: 'claims',
  claimForEvent: 'claims',
  reclaimStale: 'claims',
  loadEvent: 'claims',
  loadEvents: 'claims',
  peek: 'claims',
  resolveActiveGeneration: 'claims',
  repairReadiness: 'people',
  coverageStep: 'people',
  installPacks: 'people',
  listPacks: 'people',
  setPackStatus: 'people',
  act: 'people',
  preview: 'people',
  listFailures: 'people',
  stats: 'people',
  queueGauges: 'people',
  listEvents: 'people',
  showEvent: 'people',
  listReceipts: 'people',
  loadReceipt: 'people',
  listActions: 'people',
  schemaStatus: 'people',
  migrate: 'people',
  pressure: 'beside',
  pools: 'beside',
  ping: 'people',
  close: 'people',
} as const satisfies Record<Exclude<keyof Store, 'engine' | 'honorsClaimWorkTypes'>, InboxClass | 'beside'>;

export type Verb = keyof typeof VERBS;

export type ToStore =
  | { readonly kind: 'call'; readonly id: number; readonly verb: Verb; readonly args: readonly unknown[] }
  /** A lease keeper is to serve the other end of this port. */
  | { readonly kind: 'keeper'; readonly port: MessagePort };

export type FromStore =
  | { readonly kind: 'opened' }
  | { readonly kind: 'refused'; readonly error: PlainError }
  | { readonly kind: 'result'; readonly id: number; readonly value: unknown }
  | { readonly kind: 'failed'; readonly id: number; readonly error: PlainError };

/** An error as data: classes do not survive the way between threads. */
export type PlainError =
  | { readonly type: 'lanehead'; readonly code: ErrorCode; readonly message: string }
  | { readonly type: 'outage'; readonly outcome: 'none' | 'unknown'; readonly message: string }
  | { readonly type: 'refused'; readonly outcome: 'none' | 'unknown'; readonly message: string }
  | {
      readonly type: 'other';
      readonly name: string;
      readonly message: string;
      readonly stack: string | undefined;
    };

export function toPlain(error: unknown): PlainError {
  if (error instanceof LaneheadError) return { type: 'lanehead', code: error.code, message: error.message };
  if (error instanceof StoreOutage) {
    const type = error instanceof AccessRefused ? 'refused' : 'outage';
    return { type, outcome: error.outcome, message: error.message };
  }
  if (error instanceof Error) {
    return { type: 'other', name: error.name, message: error.message, stack: error.stack };
  }
  return { type: 'other', name: 'Error', message: String(error), stack: undefined };
}

export function fromPlain(error: PlainError): Error {
  if (error.type === 'lanehead') return new LaneheadError(error.code, error.message);
  if (error.type === 'outage' || error.type === 'refused') {
    const Outage = error.type === 'refused' ? AccessRefused : StoreOutage;
    return new Outage(error.message, error.outcome);
  }
  const restored = error.name === 'RangeError' ? new RangeError(error.message) : new Error(error.message);
  if (error.stack !== undefined) restored.stack = error.stack;
  return restored;
}
