import {
  deliveryLaneKey,
  digestParts,
  idempotencyKey,
  projectionLaneKey,
  type Scope,
  sha256,
  sourceLaneKey,
  targetLaneKey,
} from '../core/identity.js';
import type { NewId } from '../core/ids.js';
import type { EventDraft } from '../store/store.js';
import type { CheckedEvent } from './checked-output.js';
import type { Receipt, Route } from './types.js';

export interface DraftContext {
  readonly scope: Scope;
  readonly route: Route;
  readonly receipt: Receipt;
  readonly bodyHash: Uint8Array;
  readonly newId: NewId;
}

/** One event with all of its keys, scoped and digested. */
export function draftEvent(context: DraftContext, event: CheckedEvent): EventDraft {
  const { scope, route, newId } = context;
  const { type, sourceKey, deliveryKey, ordinal, queueClass, companion, runAfter, targetKey } = event;
  const projectionKey = event.projectionKey === null ? null : projectionLaneKey(scope, event.projectionKey);
  return {
    eventId: newId('evt'),
    workId: newId('wrk'),
    type,
    sourceKey,
    deliveryKey,
    ordinal,
    routeVersion: route.version,
    queueClass,
    idempotencyKey: idempotencyKey(scope, identityParts(event)),
    contentHash: contentHash(event, context.bodyHash),
    payload: event.payload,
    companion,
    laneKey: projectionKey ?? (route.ordering === 'none' ? null : sourceLaneKey(scope, sourceKey)),
    deliveryLaneKey: route.ordering === 'strict' ? deliveryLaneKey(scope, deliveryKey) : null,
    targetLaneKey: targetKey === null ? null : targetLaneKey(scope, targetKey),
    projectionKey,
    runAfter,
    failureBudget: route.retry.attempts,
    onDead: route.onDead,
  };
}

/** A key the author chose and the default one live in two domains: neither can be made to equal the other. */
function identityParts({ explicitKey, deliveryKey, ordinal }: CheckedEvent): readonly string[] {
  return explicitKey === null
    ? ['event', 'delivery', deliveryKey, String(ordinal)]
    : ['event', 'explicit', ...explicitKey];
}

/**
 * What makes the fact (MAT-4). `runAfter` is not part of it: it says when, and counted from the time of receipt it
 * differs in every redelivery of the same fact. Bytes are hashed first, so that the body by default and the same
 * bytes given by hand are the same. None of the optional parts can be empty when it is there.
 */
function contentHash(event: CheckedEvent, bodyHash: Uint8Array): Uint8Array {
  return digestParts([
    event.type,
    event.sourceKey,
    event.payload === null ? bodyHash : sha256(event.payload),
    event.companion ?? '',
    event.targetKey ?? '',
    event.projectionKey ?? '',
  ]);
}
