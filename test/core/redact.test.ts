import { describe, expect, test } from 'vitest';
import { redacted } from '../../src/core/redact.js';

const SECRET = 'marker';
const cleaned = (fields: object): string => JSON.stringify(redacted(fields));

describe('log fields', () => {
  test.each([
    'authorization',
    'Proxy-Authorization',
    'cookie',
    'Set-Cookie',
    'X-Hub-Signature-256',
    'stripe-signature',
    'x-shopify-hmac-sha256',
    'secret',
    'client_secret',
    'webhookSecrets',
    'password',
    'token',
    'access_token',
    'X-Goog-Channel-Token',
    'leaseToken',
    'apiKey',
    'x-api-key',
    'private_key',
    'DATABASE_URL',
    'auth',
    'credentials',
  ])('[MET-5] say nothing under %s, however deep', (key) => {
    expect(cleaned({ [key]: SECRET })).not.toContain(SECRET);
    expect(cleaned({ a: { b: [{ c: { [key]: { value: SECRET } } }] } })).not.toContain(SECRET);
    expect(cleaned({ headers: [[key, SECRET]] })).not.toContain(SECRET);
    expect(cleaned({ rawHeaders: ['host', 'x', key, SECRET] })).not.toContain(SECRET);
    expect(cleaned({ headers: new Headers({ [key.toLowerCase()]: SECRET }) })).not.toContain(SECRET);
    expect(cleaned({ map: new Map([[key, SECRET]]) })).not.toContain(SECRET);
  });

  test.each(['eventId', 'route', 'author', 'signed', 'cookies_allowed_note', 'keyboard', 'monkey', 'design'])(
    'keep %s',
    (key) => {
      expect(redacted({ [key]: 'kept' })).toEqual({ [key]: 'kept' });
    },
  );

  test('[MET-5] keep of an error what it is, and none of the fields that libraries hang on it', () => {
    const cause = Object.assign(new Error('inner'), { sql: SECRET });
    const error = Object.assign(new TypeError('outer', { cause }), {
      code: 'E_OUTER',
      config: { headers: { Authorization: SECRET } },
      parameters: [SECRET],
    });
    const { err } = redacted({ err: error }) as { err: Record<string, unknown> };
    expect(err).toMatchObject({
      type: 'TypeError',
      message: 'outer',
      code: 'E_OUTER',
      cause: { message: 'inner' },
    });
    expect(err.stack).toContain('redact.test.ts');
    expect(JSON.stringify(err)).not.toContain(SECRET);
  });

  test('are bounded: loops end, bytes are counted, and what cannot be read is left out', () => {
    const loop: Record<string, unknown> = { token: SECRET };
    loop.self = loop;
    expect(cleaned(loop)).toContain('too deep');
    expect(cleaned(loop)).not.toContain(SECRET);
    expect(redacted({ body: Buffer.from(SECRET) })).toEqual({ body: '[6 bytes]' });
    const hostile = {
      get trap(): never {
        throw new Error(SECRET);
      },
    };
    expect(redacted({ hostile })).toEqual({ fields: '[redacted]' });
    expect(redacted({ at: new Date(0), none: null, count: 3, list: [1, 'two'] })).toEqual({
      at: new Date(0),
      none: null,
      count: 3,
      list: [1, 'two'],
    });
  });
});
