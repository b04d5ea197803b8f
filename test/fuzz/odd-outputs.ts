import fc from 'fast-check';
import { anyOf, arrayOf, type Made, mostly, objectOf, odd, oddValue, oneOf } from './odd-values.js';

/** What a route's `materialize` does: gives something back, or throws it. */
export interface DrawnMaterialize {
  readonly kind: 'returns' | 'throws';
  readonly value: Made;
}

const key = oneOf('a', 'b', 'é', 'd-1', '💾');
const fields = {
  type: mostly(key),
  sourceKey: mostly(key),
  queueClass: mostly(oneOf('interactive', 'default', 'bulk')),
  idempotencyKey: mostly(oneOf('k', ['k', 'l'], ['', 'x'])),
  payload: mostly(oneOf('{"a":1}', '', 'not json', Buffer.from([0, 255]))),
  companion: mostly(anyOf(fc.jsonValue())),
  targetKey: mostly(key),
  projectionKey: mostly(key),
  runAfter: mostly(oneOf(0, 1_767_323_045_000.5, new Date(5))),
};
const required = ['type', 'sourceKey'];
const event = fc.oneof(
  { weight: 50, arbitrary: objectOf(fields, required) },
  { weight: 1, arbitrary: objectOf({ ...fields, unknown: oddValue }, [...required, 'unknown']) },
);
const delivery = objectOf({ key: mostly(key), events: mostly(arrayOf(mostly(event), 3)) }, ['key', 'events']);
const output = objectOf({ deliveries: mostly(arrayOf(mostly(delivery), 3)) }, ['deliveries']);

const unreadable = (name: 'message' | 'name', how: 'throws' | 'symbol' | 'object'): Made =>
  odd(`an Error whose ${name} ${how}`, () =>
    Object.defineProperty(new Error('odd'), name, {
      get() {
        if (how === 'throws') throw new Error('unreadable');
        return how === 'symbol' ? Symbol('odd') : { toString: null };
      },
    }),
  );
const thrown = fc.oneof(
  oddValue,
  fc.string().map((message) => odd(`new Error(${JSON.stringify(message)})`, () => new Error(message))),
  fc.constantFrom(
    ...(['message', 'name'] as const).flatMap((name) =>
      (['throws', 'symbol', 'object'] as const).map((how) => unreadable(name, how)),
    ),
    odd('an Error of 5,000 💾', () => new Error('💾'.repeat(5_000))),
    odd('an Error of control characters', () => new Error('\x1b[31m\r\n\0\ud800')),
  ),
);

export const materializes: fc.Arbitrary<DrawnMaterialize> = fc.oneof(
  { weight: 6, arbitrary: mostly(output).map((value) => ({ kind: 'returns', value }) as const) },
  { weight: 1, arbitrary: thrown.map((value) => ({ kind: 'throws', value }) as const) },
);
