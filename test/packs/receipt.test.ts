import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { restoreReceipt } from '../../src/packs/receipt.js';
import type { Receipt, SignatureScheme } from '../../src/packs/types.js';
import { NOW, partsOf, request, trusting } from './request-parts.js';
import { receiptOf, thrownBy, verdictOf } from './requests.js';

const FORM = { 'Content-Type': 'application/x-www-form-urlencoded' };

describe('headers', () => {
  test('are found in any case; several values of one name are joined', () => {
    const { header } = {
      header: (name: string) =>
        receiptOf({
          headers: [
            ['X-A', '1'],
            ['x-b', ''],
            ['x-a', '2'],
          ],
        }).header(name),
    };
    expect(header('x-a')).toBe('1, 2');
    expect(header('X-A')).toBe('1, 2');
    expect(header('X-B')).toBe('');
    expect(header('x-c')).toBeUndefined();
    expect(header('__proto__')).toBeUndefined();
  });

  test('case never matters', () => {
    const name = fc.stringMatching(/^[a-zA-Z0-9-]{1,12}$/);
    fc.assert(
      fc.property(name, fc.func(fc.boolean()), (text, upper) => {
        const mixed = [...text].map((c, i) => (upper(i) ? c.toUpperCase() : c.toLowerCase())).join('');
        expect(receiptOf({ headers: { [text]: 'v' } }).header(mixed)).toBe('v');
      }),
    );
  });
});

describe('query', () => {
  test.each([
    ['/in/a/b/c', ''],
    ['/in/a/b/c?', ''],
    ['/in/a/b/c?x=1&x=2', 'x=1&x=2'],
    ['/in/a/b/c?x=a?b', 'x=a%3Fb'],
    ['*', ''],
  ])('of %s', (target, query) => {
    const found = request({ target });
    expect(found.query.toString()).toBe(query);
    expect(found.target).toBe(target);
  });
});

describe('[bad input] JSON', () => {
  test('__proto__ and constructor.prototype are dropped at every depth, however they are escaped', () => {
    const body =
      '{"__proto__":{"admin":true},"a":{"\\u005f_proto__":1,"constructor":{"prototype":{"x":1}}},"b":[{"__proto__":{}}],"constructor":5}';
    const json = receiptOf({ body }).json() as { a: object };
    expect(JSON.stringify(json)).toBe('{"a":{},"b":[{}],"constructor":5}');
    expect((json as { admin?: boolean }).admin).toBeUndefined();
    expect(Object.getPrototypeOf(json)).toBe(Object.prototype);
    expect((Object.prototype as { x?: number }).x).toBeUndefined();
  });

  test('integers beyond 2^53: the bytes are the authority', () => {
    const body = '{"id":9007199254740993}';
    const receipt = receiptOf({ body });
    expect(receipt.json()).toEqual({ id: 9_007_199_254_740_992 });
    expect(receipt.text()).toBe(body);
    expect(Buffer.from(receipt.body).toString()).toBe(body);
  });

  test('broken JSON throws where it breaks, quoting nothing of it', () => {
    for (const body of ['{"secret":"s3cret"', 's3cret', '{"a":s3cret}', '', '"s3cret', '\u0000s3cret']) {
      const receipt = receiptOf({ body });
      for (const again of [1, 2]) {
        const { message } = thrownBy(() => receipt.json());
        expect(message, `${body} ${again}`).toMatch(/^not valid JSON( at position \d+)?$/);
      }
      expect(receipt.text()).toBe(body);
    }
  });

  test('is parsed once', () => {
    const receipt = receiptOf({ body: '{"a":1}' });
    expect(receipt.json()).toBe(receipt.json());
    const nothing = receiptOf({ body: 'null' });
    expect(nothing.json()).toBeNull();
  });

  test('a byte order mark is no part of it', () => {
    expect(receiptOf({ body: '\ufeff{"a":1}' }).json()).toEqual({ a: 1 });
  });

  test.each([
    {},
    { 'content-type': 'application/cloudevents+json' },
    { 'content-type': 'text/plain' },
    { 'content-type': ';;' },
  ])('whatever the content type says: %o', (headers) => {
    const receipt = receiptOf({ headers: headers as Record<string, string>, body: '{"a":1}' });
    expect(receipt.json()).toEqual({ a: 1 });
    expect(receipt.text()).toBe('{"a":1}');
  });
});

describe('forms', () => {
  test('form() decodes, text() does not', () => {
    const receipt = receiptOf({ headers: FORM, body: 'a=1+2&a=%C3%A9&b' });
    expect([...receipt.form()]).toEqual([
      ['a', '1 2'],
      ['a', 'é'],
      ['b', ''],
    ]);
    expect(receipt.text()).toBe('a=1+2&a=%C3%A9&b');
  });

  test('json() of a form is its payload field, parsed as safely', () => {
    const payload = encodeURIComponent('{"__proto__":1,"a":[1]}');
    expect(receiptOf({ headers: FORM, body: `token=x&payload=${payload}` }).json()).toEqual({ a: [1] });
    expect(thrownBy(() => receiptOf({ headers: FORM, body: 'a=1' }).json()).message).toBe(
      'the form has no payload field',
    );
    expect(thrownBy(() => receiptOf({ headers: FORM, body: 'payload=s3cret' }).json()).message).toMatch(
      /^not valid JSON/,
    );
  });

  test('json() of JSON under the type of a form is that JSON', () => {
    expect(receiptOf({ headers: FORM, body: ' {"a":"x&payload=1"}' }).json()).toEqual({ a: 'x&payload=1' });
  });
});

test('text() of bytes that are not UTF-8 leaves the bytes alone, inside a larger buffer too', () => {
  const pool = Buffer.from([0x41, 0xff, 0x42, 0x43]);
  const receipt = receiptOf({ body: new Uint8Array(pool.buffer, pool.byteOffset + 1, 2) });
  expect(receipt.text()).toBe('\ufffdB');
  expect([...receipt.body]).toEqual([0xff, 0x42]);
});

describe('verifyRequest fails closed', () => {
  const scheme = (verify: unknown): SignatureScheme => ({
    ...trusting,
    verify: verify as SignatureScheme['verify'],
  });

  test.each([
    [
      'throws',
      () => {
        throw new Error('bug');
      },
    ],
    ['answers nothing', () => undefined],
    ['answers null', () => null],
    ['answers true', () => true],
    ['answers another kind', () => ({ kind: 'ok' })],
    ['answers a promise', async () => ({ kind: 'verified' })],
    ['answers a rejected promise', () => Promise.reject(new Error('late'))],
    ['answers a promise that looks verified', () => Object.assign(Promise.resolve(), { kind: 'verified' })],
  ])('when a scheme %s', (_, verify) => {
    expect(verdictOf(scheme(verify), {})).toBe('401 scheme_failed');
  });

  test('and a receipt says what was received and by which scheme it was verified', () => {
    const parts = partsOf({ headers: { a: 'b' }, body: 'x', target: '/t?q=1', method: 'PUT' });
    const receipt = receiptOf(parts);
    const { namespace, pack, route, method, target, headers, body, receivedAt, verification } = receipt;
    expect({ namespace, pack, route, method, target, headers, body, receivedAt }).toEqual(parts);
    expect(verification).toBe('trusting');
    expect(receivedAt).toBe(NOW);
  });
});

test('a stored receipt is restored as it was', () => {
  const parts = partsOf({ headers: { a: 'b' }, body: '{"a":1}', target: '/t?q=1' });
  const receipt: Receipt = restoreReceipt({ ...parts, verification: 'github' });
  expect(receipt.verification).toBe('github');
  expect(receipt.json()).toEqual({ a: 1 });
  expect(receipt.header('A')).toBe('b');
  expect(receipt.query.get('q')).toBe('1');
});
