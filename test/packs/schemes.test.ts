/** What every scheme must do, held against each of them. */
import { describe, expect, test } from 'vitest';
import { signatures } from '../../src/packs/signatures.js';
import type { SecretSource } from '../../src/packs/types.js';
import { NOW, partsOf, type RequestInput, SCOPE } from './request-parts.js';
import { thrownBy, verdictOf, verified } from './requests.js';
import { NEW, OLD, SCHEMES } from './signed-requests.js';

const MINUTES_5_MS = 300_000;
/** Multipart with bytes that are not UTF-8, a NUL and a lone CR. */
const FOREIGN_BYTES = Buffer.concat([
  Buffer.from('--b\r\ncontent-disposition: form-data; name="f"; filename="x"\r\n\r\n'),
  Buffer.from([0xff, 0xfe, 0x00, 0x0d, 0xc3, 0x28, 0xe2, 0x80, 0xa8]),
  Buffer.from('\r\n--b--\r\n'),
]);

const renamed = (input: RequestInput, change: (name: string) => string): RequestInput => ({
  ...input,
  headers: partsOf(input).headers.map(([name, value]) => [change(name), value] as const),
});

test('every scheme is held to these rules', () => {
  const built = SCHEMES.map(({ make }) => make('secret').name).sort();
  const offered = Object.keys(signatures).map((name) => name.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`));
  expect(built).toEqual(offered.sort());
});

describe('options that a pack without types gets wrong', () => {
  const make = signatures as unknown as Record<string, (options?: unknown) => unknown>;
  const secretName = (name: string) =>
    name === 'basic' ? 'password' : name === 'microsoftGraph' ? 'clientState' : 'secret';

  test.each(Object.keys(signatures))('%s names a missing secret and an unknown field', (name) => {
    const { code, message } = thrownBy(() => make[name]!({ secrets: 'x' }));
    expect(code).toBe('invalid_pack');
    expect(message).toContain(`signatures.${name}: ${secretName(name)}: must be a string, a list`);
    expect(message).toContain(`signatures.${name}: secrets: is not a known field`);
    expect(thrownBy(() => make[name]!()).message).toBe(`signatures.${name}: options: must be an object`);
  });

  test.each(['stripe', 'mailgun', 'standardWebhooks'])('%s takes no tolerance that refuses all', (name) => {
    for (const toleranceMs of [-5, 0, Number.NaN, Number.POSITIVE_INFINITY, '5']) {
      const { message } = thrownBy(() => make[name]!({ secret: NEW, toleranceMs }));
      expect(message).toBe(`signatures.${name}: toleranceMs: must be a number above 0`);
    }
  });

  test.each(['hubspot', 'square'])('%s needs its url', (name) => {
    expect(thrownBy(() => make[name]!({ secret: NEW })).message).toMatch(
      /: url: must be a URL .* undefined$/,
    );
  });
});

describe.each(SCHEMES)('[signature] $name', ({ name, make, sign, body }) => {
  const text = body ?? '{"text":"héllo \u2028 \\u00e9 1.0 😀"}';
  const scheme = make(NEW);

  test('takes what the provider signed, and says who verified it', async () => {
    const receipt = verified(scheme, await sign(NEW, text));
    expect(receipt.verification).toBe(name);
    expect(scheme.methods).toContain('POST');
  });

  test('refuses another secret, a changed signature and none', async () => {
    expect(verdictOf(scheme, await sign(OLD, text))).toBe('401 signature_mismatch');
    expect(verdictOf(scheme, { body: text })).toBe('401 signature_missing');
    const signed = await sign(NEW, text);
    const blank = { ...signed, headers: partsOf(signed).headers.map(([key]) => [key, ''] as const) };
    if (body !== '') expect(verdictOf(scheme, blank)).toBe('401 signature_missing');
  });

  test('finds its headers in any case', async () => {
    const signed = await sign(NEW, text);
    expect(
      verdictOf(
        scheme,
        renamed(signed, (key) => key.toUpperCase()),
      ),
    ).toBe('verified');
    expect(
      verdictOf(
        scheme,
        renamed(signed, (key) => key.toLowerCase()),
      ),
    ).toBe('verified');
  });

  test('accepts old and new secret while it rotates, and only the new one after', async () => {
    let current: readonly string[] = [NEW, OLD];
    const rotating = make(() => current);
    expect(verdictOf(rotating, await sign(OLD, text))).toBe('verified');
    expect(verdictOf(rotating, await sign(NEW, text))).toBe('verified');
    expect(verdictOf(make([NEW, OLD]), await sign(OLD, text))).toBe('verified');
    current = [NEW];
    expect(verdictOf(rotating, await sign(OLD, text))).toBe('401 signature_mismatch');
    expect(verdictOf(rotating, await sign(NEW, text))).toBe('verified');
  });

  test('resolves its secret for the namespace, pack and route at hand', async () => {
    const scheme = make(({ namespace, pack, route }) =>
      `${namespace}/${pack}/${route}` === 'acme/connector/events' ? NEW : OLD,
    );
    expect(verdictOf(scheme, await sign(NEW, text))).toBe('verified');
    expect(verdictOf(scheme, { ...(await sign(NEW, text)), namespace: 'other' })).toBe(
      '401 signature_mismatch',
    );
    expect(verdictOf(scheme, { ...(await sign(OLD, text)), namespace: 'other' })).toBe('verified');
  });

  const absent: readonly [string, SecretSource][] = [
    ['undefined', () => undefined],
    ['empty', ''],
    ['blank', ' \n'],
    ['an empty list', []],
    ['a list with a hole', [NEW, '']],
    ['no text', (() => 5) as never],
    ['a promise', (async () => NEW) as never],
    ['a rejected promise', (() => Promise.reject(new Error('vault'))) as never],
    [
      'a throw',
      () => {
        throw new Error('the vault said s3cret');
      },
    ],
  ];
  test.each(absent)('refuses to start when the secret is %s', (_, source) => {
    const { code, message } = thrownBy(() => make(source).prepare(SCOPE));
    expect(code).toBe('invalid_configuration');
    expect(message).toMatch(
      /^namespace acme, pack connector, route events: the (secret|password|clientState) is /,
    );
    expect(message).not.toContain('s3cret');
  });

  test('starts with a secret, and refuses requests when it is gone later', async () => {
    let current: string | undefined = NEW;
    const vanishing = make(() => current);
    vanishing.prepare(SCOPE);
    const signed = await sign(NEW, text);
    expect(verdictOf(vanishing, signed)).toBe('verified');
    for (const gone of [undefined, '', ' ']) {
      current = gone;
      expect(verdictOf(vanishing, signed)).toBe('401 secret_unavailable');
    }
    const throwing = make(() => {
      throw new Error('vault');
    });
    expect(verdictOf(throwing, signed)).toBe('401 secret_unavailable');
  });
});

const signingBodies = SCHEMES.filter(({ name, body }) => body !== '' && name !== 'basic');
test.each(signingBodies)('[signature] $name refuses a body with one bit changed', async ({ make, sign }) => {
  const signed = partsOf(await sign(NEW, '{"action":"opened"}'));
  const changed = Buffer.from(signed.body);
  changed[changed.length - 3]! ^= 1;
  expect(verdictOf(make(NEW), { ...signed, body: changed })).toBe('401 signature_mismatch');
});

const takingBytes = SCHEMES.filter(({ body }) => body === null);
test.each(takingBytes)('[signature] $name hashes bytes, whatever they mean', async ({ make, sign }) => {
  const receipt = verified(make(NEW), await sign(NEW, FOREIGN_BYTES));
  expect(Buffer.compare(receipt.body, FOREIGN_BYTES)).toBe(0);
});

const timed = SCHEMES.flatMap((one) => (one.signAt ? [{ ...one, signAt: one.signAt }] : []));
describe.each(timed)('[signature] timestamp of $name', ({ make, signAt, unit }) => {
  test.each([
    ['5 minutes old', -MINUTES_5_MS, 'verified'],
    ['more than 5 minutes old', -MINUTES_5_MS - 1_000, '401 timestamp_outside_tolerance'],
    ['5 minutes ahead', MINUTES_5_MS, 'verified'],
    ['more than 5 minutes ahead', MINUTES_5_MS + 1_000, '401 timestamp_outside_tolerance'],
  ])('%s', (_, offsetMs, verdict) => {
    const signedAt = NOW + offsetMs;
    const timestamp = String(unit === 'milliseconds' ? signedAt : signedAt / 1_000);
    expect(verdictOf(make(NEW), signAt(NEW, timestamp, '{"a":1}'))).toBe(verdict);
  });
});
