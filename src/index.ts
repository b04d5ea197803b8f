export type { Clock } from './core/clock.js';
export { ERRORS, type ErrorCode, isLaneheadError, LaneheadError } from './core/errors.js';
export type { RetryPolicy } from './core/retry.js';
export type { EventOrigin, OnConflict, OnDead, Ordering, QueueClass, WorkItemState } from './core/work.js';
export { definePack, defineRoute } from './packs/define-pack.js';
export type { HmacHandshake, HmacOptions, HmacUrl, SignedContent, SignedParts } from './packs/signatures.js';
export { mailgunToken, signatures } from './packs/signatures.js';
export type * from './packs/types.js';
export type { LaneheadOptions, Role } from './runtime/options.js';
export { createLanehead, type Lanehead, type Started } from './runtime/runtime.js';
export type { WorkActionOptions, WorkActionResult } from './runtime/work-actions.js';
export type {
  ActionFilter,
  ActionRecord,
  ClassStats,
  FailureFilter,
  FailureGroup,
  PackStats,
  Page,
  Stats,
  WorkAction,
  WorkFilter,
} from './store/store.js';
