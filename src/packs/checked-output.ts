import type { QueueClass } from '../core/work.js';
import { FieldCheck } from './field-check.js';

export const MAX_EVENTS = 1_000;
const MAX_DELIVERIES = 1_000;
const MAX_TYPE_BYTES = 128;
/** Payloads and companions that one receipt may bring besides its own body, together. */
const MAX_OWN_BYTES = 8 * 1_048_576;

/** One event of `materialize`, found to be in order. */
export interface CheckedEvent {
  readonly type: string;
  readonly sourceKey: string;
  readonly deliveryKey: string;
  readonly ordinal: number;
  readonly queueClass: QueueClass;
  /** `null`: the delivery key and the ordinal. */
  readonly explicitKey: readonly string[] | null;
  /** `null`: the body. */
  readonly payload: Uint8Array | null;
  readonly companion: string | null;
  readonly targetKey: string | null;
  readonly projectionKey: string | null;
  readonly runAfter: number | null;
}

/**
 * The events of all deliveries, in order, with bytes of their own: whatever becomes of the author's buffers, what is
 * stored is what was hashed.
 * @param body payloads that are these very bytes are `null`.
 * @throws InvalidOutput naming every wrong field (the first 20).
 */
export function checkOutput(
  output: unknown,
  body: Uint8Array,
  maxEvents = MAX_EVENTS,
): readonly CheckedEvent[] {
  const check = new FieldCheck();
  const events = [...eachEvent(check, output, maxEvents)].map((event) =>
    event.payload === body ? { ...event, payload: null } : event,
  );
  const ownBytes = events.reduce((sum, event) => sum + bytesOf(event.payload) + bytesOf(event.companion), 0);
  if (ownBytes > MAX_OWN_BYTES)
    check.fault('deliveries', `payloads and companions exceed ${MAX_OWN_BYTES} bytes`);
  check.settle();
  return events.map((event) =>
    event.payload === null ? event : { ...event, payload: Buffer.from(event.payload) },
  );
}

function* eachEvent(check: FieldCheck, output: unknown, maxEvents: number): Generator<CheckedEvent> {
  const whole = check.object('output', output, ['deliveries']);
  const deliveries = check.list('deliveries', whole.deliveries, MAX_DELIVERIES + 1);
  if (deliveries.length > MAX_DELIVERIES) return check.fault('deliveries', `more than ${MAX_DELIVERIES}`);
  let count = 0;
  for (const [d, given] of deliveries.entries()) {
    const at = `deliveries[${d}]`;
    const delivery = check.object(at, given, ['key', 'events']);
    const deliveryKey = check.key(`${at}.key`, delivery.key);
    const events = check.list(`${at}.events`, delivery.events, maxEvents + 1);
    count += events.length;
    if (count > maxEvents) return check.fault('deliveries', `more than ${maxEvents} events`);
    for (const [ordinal, event] of events.entries()) {
      yield checkEvent(check, `${at}.events[${ordinal}]`, event, deliveryKey, ordinal);
    }
  }
}

const EVENT_FIELDS = [
  'type',
  'sourceKey',
  'queueClass',
  'idempotencyKey',
  'payload',
  'companion',
  'targetKey',
  'projectionKey',
  'runAfter',
] as const;

function checkEvent(
  check: FieldCheck,
  at: string,
  given: unknown,
  deliveryKey: string,
  ordinal: number,
): CheckedEvent {
  const event = check.object(at, given, EVENT_FIELDS);
  return {
    deliveryKey,
    ordinal,
    type: check.key(`${at}.type`, event.type, MAX_TYPE_BYTES),
    sourceKey: check.key(`${at}.sourceKey`, event.sourceKey),
    queueClass: check.queueClass(`${at}.queueClass`, event.queueClass),
    explicitKey: check.keyParts(`${at}.idempotencyKey`, event.idempotencyKey),
    payload: check.payload(`${at}.payload`, event.payload),
    companion: check.companion(`${at}.companion`, event.companion),
    targetKey: check.optionalKey(`${at}.targetKey`, event.targetKey),
    projectionKey: check.optionalKey(`${at}.projectionKey`, event.projectionKey),
    runAfter: check.time(`${at}.runAfter`, event.runAfter),
  };
}

const bytesOf = (own: Uint8Array | string | null): number => (own === null ? 0 : Buffer.byteLength(own));
