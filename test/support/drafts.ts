import {
  deliveryLaneKey,
  digestParts,
  idempotencyKey,
  projectionLaneKey,
  sha256,
  sourceLaneKey,
  targetLaneKey,
} from '../../src/core/identity.js';
import { idMaker } from '../../src/core/ids.js';
import { systemClock, systemRandom } from '../../src/core/system.js';
import type { OnConflict, OnDead, Ordering, QueueClass } from '../../src/core/work.js';
import type { EventDraft, InstalledPack, ReceiptDraft } from '../../src/store/store.js';

export const newId = idMaker(systemClock, systemRandom());

export interface EventSketch {
  readonly source?: string;
  /** Default: delivery and ordinal. */
  readonly key?: string;
  readonly payload?: string;
  readonly queueClass?: QueueClass;
  readonly target?: string;
  readonly projection?: string;
  readonly runAfter?: number;
  readonly budget?: number;
  readonly onDead?: OnDead;
}

export interface ReceiptSketch {
  readonly receiptId?: string;
  readonly delivery?: string;
  readonly body?: string;
  readonly route?: string;
  readonly routeVersion?: number;
  readonly ordering?: Ordering;
  readonly onConflict?: OnConflict;
  readonly events?: readonly EventSketch[];
  readonly quarantine?: { code: string; message: string };
  readonly traceContext?: string;
}

let counter = 0;

/** A receipt as the packs room would draft it, from a few words. */
export function draftReceipt(pack: InstalledPack, sketch: ReceiptSketch = {}): ReceiptDraft {
  const route = sketch.route ?? 'events';
  const scope = { namespace: pack.namespace, pack: pack.pack, route };
  const delivery = sketch.delivery ?? `delivery-${++counter}`;
  const body = Buffer.from(sketch.body ?? `{"delivery":${JSON.stringify(delivery)}}`);
  const ordering = sketch.ordering ?? 'source';
  const events = (sketch.events ?? [{}]).map((event, ordinal): EventDraft => {
    const sourceKey = event.source ?? 'source-1';
    const payload = event.payload === undefined ? null : Buffer.from(event.payload);
    const projectionKey = event.projection === undefined ? null : projectionLaneKey(scope, event.projection);
    const parts = event.key === undefined ? ['default', delivery, String(ordinal)] : ['explicit', event.key];
    return {
      eventId: newId('evt'),
      workId: newId('wrk'),
      type: 'push',
      sourceKey,
      deliveryKey: delivery,
      ordinal,
      routeVersion: sketch.routeVersion ?? 1,
      queueClass: event.queueClass ?? 'default',
      idempotencyKey: idempotencyKey(scope, parts),
      contentHash: digestParts([sourceKey, payload ?? body]),
      payload,
      companion: null,
      laneKey: projectionKey ?? (ordering === 'none' ? null : sourceLaneKey(scope, sourceKey)),
      deliveryLaneKey: ordering === 'strict' ? deliveryLaneKey(scope, delivery) : null,
      targetLaneKey: event.target === undefined ? null : targetLaneKey(scope, event.target),
      projectionKey,
      runAfter: event.runAfter ?? null,
      failureBudget: event.budget ?? 8,
      onDead: event.onDead ?? 'advance',
    };
  });
  const receiptId = sketch.receiptId ?? newId('rcp');
  return {
    receiptId,
    route,
    method: 'POST',
    target: `/in/${pack.namespace}/${pack.pack}/${route}`,
    headers: [['content-type', 'application/json']],
    body,
    bodyHash: sha256(body),
    verification: 'github',
    receivedAt: systemClock.now(),
    onConflict: sketch.onConflict ?? 'hold',
    events: sketch.quarantine ? [] : events,
    quarantine: sketch.quarantine ?? null,
    traceContext: sketch.traceContext ?? null,
    requestKey: idempotencyKey(
      scope,
      sketch.quarantine ? ['quarantine', receiptId] : ['request', sha256(body).toString('hex')],
    ),
  };
}
