import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  deliveryLaneKey,
  idempotencyKey,
  projectionLaneKey,
  sourceLaneKey,
  targetLaneKey,
} from '../../src/core/identity.js';
import type { EventInput } from '../../src/packs/types.js';
import { draft, draftOne } from './drafts.js';
import { NOW, type RequestInput, SCOPE } from './request-parts.js';

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const keyOf = (event: Partial<EventInput>, deliveryKey = 'd1'): string =>
  hex(draftOne(event, {}, {}, deliveryKey).idempotencyKey);
const hashOf = (event: Partial<EventInput>, body = '{"a":1}'): string =>
  hex(draftOne(event, {}, { body }).contentHash);

describe('[MAT-4] idempotency keys', () => {
  const word = fc.oneof(
    fc.constantFrom('', 'event', 'delivery', 'explicit', 'd1', '0', '1', ':', '1:'),
    fc.string({ maxLength: 6 }),
  );
  const usable = (text: string) => text.trim() !== '';
  const parts = fc
    .array(word, { minLength: 1, maxLength: 5 })
    .filter((list) => list.some((part) => part !== ''));

  test('two different tuples of parts never give the same key', () => {
    fc.assert(
      fc.property(parts, parts, (one, other) => {
        expect(keyOf({ idempotencyKey: one }) === keyOf({ idempotencyKey: other })).toBe(
          JSON.stringify(one) === JSON.stringify(other),
        );
      }),
      { numRuns: 300 },
    );
    expect(keyOf({ idempotencyKey: ['ab', 'c'] })).not.toBe(keyOf({ idempotencyKey: ['a', 'bc'] }));
    expect(keyOf({ idempotencyKey: ['a'] })).not.toBe(keyOf({ idempotencyKey: ['a', ''] }));
    expect(keyOf({ idempotencyKey: 'a' })).toBe(keyOf({ idempotencyKey: ['a'] }));
  });

  test('a key that an author chose never equals a default one, nor that of a request', () => {
    fc.assert(
      fc.property(word.filter(usable), parts, (deliveryKey, explicit) => {
        const byDefault = keyOf({}, deliveryKey);
        for (const chosen of [
          explicit,
          [deliveryKey, '0'],
          ['delivery', deliveryKey, '0'],
          ['event', 'delivery', deliveryKey, '0'],
        ]) {
          expect(keyOf({ idempotencyKey: chosen })).not.toBe(byDefault);
        }
      }),
      { numRuns: 200 },
    );
    const result = draft(() => ({
      deliveries: [
        {
          key: 'd',
          events: [
            {
              type: 't',
              sourceKey: 's',
              idempotencyKey: ['request', hex(draft(() => ({ deliveries: [] })).bodyHash)],
            },
          ],
        },
      ],
    }));
    expect(hex(result.events[0]!.idempotencyKey)).not.toBe(hex(result.requestKey));
  });

  test('the default is the delivery key and the place in it', () => {
    const events = [
      { type: 't', sourceKey: 's' },
      { type: 't', sourceKey: 's' },
    ];
    const drafts = draft(() => ({
      deliveries: [
        { key: 'd1', events },
        { key: 'd2', events },
      ],
    })).events;
    expect(new Set(drafts.map((event) => hex(event.idempotencyKey))).size).toBe(4);
    expect(drafts.map((event) => event.idempotencyKey)).toEqual(
      [
        ['d1', '0'],
        ['d1', '1'],
        ['d2', '0'],
        ['d2', '1'],
      ].map((parts) => idempotencyKey(SCOPE, ['event', 'delivery', ...parts])),
    );
  });

  test('are scoped by namespace, pack and route', () => {
    const scopes = [SCOPE, { ...SCOPE, namespace: 'other' }, { ...SCOPE, pack: 'other' }];
    const keys = scopes.map((scope) => hex(draftOne({}, {}, scope).idempotencyKey));
    expect(new Set(keys).size).toBe(3);
    const requests = scopes.map((scope) => hex(draft(() => ({ deliveries: [] }), scope).requestKey));
    expect(new Set(requests).size).toBe(3);
  });

  test('the request key follows everything that can name an event', () => {
    const keyFor = (request: RequestInput) => hex(draft(() => ({ deliveries: [] }), request).requestKey);
    const variants: RequestInput[] = [
      { body: 'a' },
      { body: 'b' },
      { body: 'a', target: '/in/acme/connector/events?kind=b' },
      { body: 'a', headers: { 'x-id': '1' } },
      { body: 'a', headers: { 'x-id': '2' } },
      { body: 'a', method: 'PUT' },
    ];
    expect(keyFor(variants[0]!)).toBe(keyFor(variants[0]!));
    expect(new Set(variants.map(keyFor)).size).toBe(variants.length);
  });

  test('[ADM-1] the request key of a quarantined receipt is its own', () => {
    const keyFor = (receiptId: string) => hex(draft(() => null, {}, { draft: { receiptId } }).requestKey);
    expect(keyFor('rcp_a')).toBe(keyFor('rcp_a'));
    expect(keyFor('rcp_a')).not.toBe(keyFor('rcp_b'));
  });
});

describe('[MAT-4] content hashes', () => {
  const variants: Partial<EventInput>[] = [
    {},
    { type: 'pull' },
    { sourceKey: 'other' },
    { payload: 'other' },
    { payload: '' },
    { companion: { a: 1 } },
    { companion: '' },
    { targetKey: 'x' },
    { projectionKey: 'x' },
  ];

  test('every part of the fact counts, present or absent', () => {
    const hashes = variants.map((variant) => hashOf(variant));
    expect(new Set(hashes).size).toBe(variants.length);
    expect(hashOf({}, '{"a":2}')).not.toBe(hashOf({}));
    expect(hashOf({ type: 'ab', sourceKey: 'c' })).not.toBe(hashOf({ type: 'a', sourceKey: 'bc' }));
  });

  test('the same fact gives the same hash: body by default or by hand, bytes or text', () => {
    expect(hashOf({ payload: '{"a":1}' })).toBe(hashOf({}));
    expect(hashOf({ payload: Buffer.from('{"a":1}') })).toBe(hashOf({}));
    expect(hashOf({ companion: null })).toBe(hashOf({}));
    expect(hashOf({ queueClass: 'bulk', idempotencyKey: 'x' })).toBe(hashOf({}));
  });

  test('a time to run that counts from the receipt does not make a redelivery another fact', () => {
    const later = (receivedAt: number) =>
      hex(
        draft(
          (receipt) => ({
            deliveries: [
              { key: 'd1', events: [{ type: 't', sourceKey: 's', runAfter: receipt.receivedAt + 60_000 }] },
            ],
          }),
          { receivedAt },
        ).events[0]!.contentHash,
      );
    expect(later(NOW)).toBe(later(NOW + 5_000));
  });
});

describe('lanes', () => {
  const lanesOf = (event: Partial<EventInput>, ordering?: string) => {
    const { laneKey, deliveryLaneKey, targetLaneKey, projectionKey } = draftOne(
      event,
      ordering === undefined ? {} : { ordering },
    );
    return { laneKey, deliveryLaneKey, targetLaneKey, projectionKey };
  };
  const none = { laneKey: null, deliveryLaneKey: null, targetLaneKey: null, projectionKey: null };
  const source = sourceLaneKey(SCOPE, 'repo');
  const projection = projectionLaneKey(SCOPE, 'contact');

  test('source: the lane of the source', () => {
    expect(lanesOf({})).toEqual({ ...none, laneKey: source });
    expect(lanesOf({}, 'source')).toEqual({ ...none, laneKey: source });
  });

  test('strict: the lane of the delivery too', () => {
    expect(lanesOf({}, 'strict')).toEqual({
      ...none,
      laneKey: source,
      deliveryLaneKey: deliveryLaneKey(SCOPE, 'd1'),
    });
  });

  test('none: no lane', () => {
    expect(lanesOf({}, 'none')).toEqual(none);
  });

  test('a target lane only where the event names a target', () => {
    for (const ordering of ['source', 'strict', 'none']) {
      expect(lanesOf({ targetKey: 'x' }, ordering).targetLaneKey).toBe(targetLaneKey(SCOPE, 'x'));
    }
  });

  test('a projection key is the lane, under every ordering', () => {
    for (const ordering of ['source', 'none']) {
      expect(lanesOf({ projectionKey: 'contact' }, ordering)).toEqual({
        ...none,
        laneKey: projection,
        projectionKey: projection,
      });
    }
    expect(lanesOf({ projectionKey: 'contact' }, 'strict').deliveryLaneKey).toBe(
      deliveryLaneKey(SCOPE, 'd1'),
    );
  });
});

describe('what is stored of an event', () => {
  test('the body is stored once: given by hand it is still the body', () => {
    const events = (payload: unknown) =>
      draft((receipt) => ({
        deliveries: [
          {
            key: 'd',
            events: [{ type: 't', sourceKey: 's', payload: payload === 'body' ? receipt.body : payload }],
          },
        ],
      })).events[0]!;
    expect(events('body').payload).toBeNull();
    expect(events(undefined).payload).toBeNull();
    expect(Buffer.from(events('own 😀').payload!).toString()).toBe('own 😀');
    const bytes = new Uint8Array([0xff, 0]);
    const copied = events(bytes).payload!;
    expect([...copied]).toEqual([0xff, 0]);
    bytes.fill(0);
    expect([...copied]).toEqual([0xff, 0]);
    expect(events('').payload).toHaveLength(0);
  });

  test('a companion as JSON, due times in whole milliseconds', () => {
    expect(draftOne({ companion: { a: [1, null], b: 'é' } }).companion).toBe('{"a":[1,null],"b":"é"}');
    expect(draftOne({ companion: false }).companion).toBe('false');
    expect(draftOne({ companion: null }).companion).toBeNull();
    expect(draftOne({ runAfter: new Date(NOW) }).runAfter).toBe(NOW);
    expect(draftOne({ runAfter: NOW + 0.25 }).runAfter).toBe(NOW + 1);
    expect(draftOne({ runAfter: 0 }).runAfter).toBe(0);
  });
});
