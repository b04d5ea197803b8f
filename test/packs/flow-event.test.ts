import { describe, expect, test } from 'vitest';
import { loadedToFlowEvent } from '../../src/packs/flow-event.js';
import type { LoadedEvent } from '../../src/store/store.js';
import { NOW } from './request-parts.js';
import { thrownBy } from './requests.js';

const loaded = (change: Partial<LoadedEvent> = {}): LoadedEvent => ({
  eventId: 'evt_1',
  receiptId: 'rcp_1',
  type: 'push',
  sourceKey: 'repo',
  deliveryKey: 'd1',
  ordinal: 2,
  route: 'events',
  routeVersion: 3,
  payload: Buffer.from('{"a":1}'),
  headers: [
    ['Content-Type', 'application/json'],
    ['X-A', '1'],
    ['x-a', '2'],
    ['__proto__', 'x'],
  ],
  companion: '{"b":[1]}',
  receivedAt: NOW,
  origin: 'webhook',
  parentId: null,
  traceContext: null,
  ...change,
});
const event = (change: Partial<LoadedEvent> = {}) => loadedToFlowEvent('acme', loaded(change));

describe('[EXE-2] the event a flow gets', () => {
  test('is what was stored', () => {
    const {
      id,
      namespace,
      type,
      sourceKey,
      deliveryKey,
      ordinal,
      payload,
      receivedAt,
      origin,
      parentId,
      companion,
    } = event();
    expect({ id, namespace, type, sourceKey, deliveryKey, ordinal, origin, parentId, companion }).toEqual({
      id: 'evt_1',
      namespace: 'acme',
      type: 'push',
      sourceKey: 'repo',
      deliveryKey: 'd1',
      ordinal: 2,
      origin: 'webhook',
      parentId: null,
      companion: { b: [1] },
    });
    expect(receivedAt).toEqual(new Date(NOW));
    expect(Buffer.from(payload).toString()).toBe('{"a":1}');
    expect(event().json()).toEqual({ a: 1 });
  });

  test('has its headers by lower-case name', () => {
    const { headers } = event();
    expect(Object.entries(headers)).toEqual([
      ['content-type', 'application/json'],
      ['x-a', '1, 2'],
      ['__proto__', 'x'],
    ]);
    expect(Object.isFrozen(headers)).toBe(true);
    expect(event({ headers: [] }).headers).toEqual({});
  });

  test('parses once, and only when asked', () => {
    const broken = event({ payload: Buffer.from('{"s3cret'), companion: '{"s3cret' });
    expect(broken.type).toBe('push');
    expect(thrownBy(() => broken.json()).message).toMatch(/^not valid JSON( at position \d+)?$/);
    expect(thrownBy(() => broken.companion).message).toMatch(/^not valid JSON( at position \d+)?$/);
    const whole = event();
    expect(whole.json()).toBe(whole.json());
    expect(whole.companion).toBe(whole.companion);
  });

  test('parses as safely as a receipt', () => {
    const text = '{"__proto__":{"x":1},"a":1}';
    const unsafe = event({ payload: Buffer.from(text), companion: text });
    expect(Object.keys(unsafe.json() as object)).toEqual(['a']);
    expect(Object.keys(unsafe.companion as object)).toEqual(['a']);
    expect(event({ companion: null }).companion).toBeNull();
  });

  test('reads the payload field of a form, and a payload that materialize wrote', () => {
    const headers = [['content-type', 'application/x-www-form-urlencoded']] as const;
    expect(event({ headers, payload: Buffer.from('payload=%7B%22a%22%3A2%7D') }).json()).toEqual({ a: 2 });
    expect(event({ headers, payload: Buffer.from('{"a":3}') }).json()).toEqual({ a: 3 });
  });
});
