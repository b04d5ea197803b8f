import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { signatures } from '../../src/packs/signatures.js';
import { mac, NOW, NOW_SECONDS, SCOPE } from './request-parts.js';
import { thrownBy, verdictOf } from './requests.js';
import { NEW, signHubspot, signSlack, signZoom, URL_AT_PROVIDER } from './signed-requests.js';

const secret = 'secret';

describe('[signature] hmac options', () => {
  test.each(['sha1', 'sha256', 'sha512'] as const)('%s in every encoding, behind a prefix', (algorithm) => {
    for (const encoding of ['hex', 'base64', 'base64url'] as const) {
      const scheme = signatures.hmac({
        name: 'mine',
        secret,
        header: 'X-Sig',
        algorithm,
        encoding,
        prefix: 'p1 ',
      });
      const value = mac(algorithm, secret, encoding, 'body');
      expect(scheme.name).toBe('mine');
      expect(verdictOf(scheme, { headers: { 'x-sig': `p1 ${value}` }, body: 'body' })).toBe('verified');
      expect(verdictOf(scheme, { headers: { 'x-sig': value }, body: 'body' })).toBe('401 signature_missing');
      expect(verdictOf(scheme, { headers: { 'x-sig': `p1 ${value}` }, body: 'Body' })).toBe(
        '401 signature_mismatch',
      );
    }
  });

  test('a template over method, URL, target, timestamp and body', () => {
    const scheme = signatures.hmac({
      secret,
      header: 'x-sig',
      url: 'https://a.example/hook',
      timestamp: { header: 'x-time' },
      signed: '{timestamp}|{method}|{url}|{target}|{body}|end',
    });
    const signed = `${NOW_SECONDS}|POST|https://a.example/hook|/in/a/b/c?d=%20|`;
    const signature = mac('sha256', secret, 'hex', signed, Buffer.from([0xff, 0]), '|end');
    const input = {
      target: '/in/a/b/c?d=%20',
      headers: { 'x-sig': signature, 'x-time': NOW_SECONDS, host: 'elsewhere.example' },
      body: Buffer.from([0xff, 0]),
    };
    expect(verdictOf(scheme, input)).toBe('verified');
    expect(verdictOf(scheme, { ...input, target: '/in/a/b/c?d=+' })).toBe('401 signature_mismatch');
    expect(verdictOf(scheme, { ...input, method: 'PUT' })).toBe('401 signature_mismatch');
  });

  test('a function gives the pieces', () => {
    const many = signatures.hmac({
      secret,
      header: 'x-sig',
      signed: ({ body, target }) => [target, '\n', body],
    });
    const one = signatures.hmac({ secret, header: 'x-sig', signed: ({ body }) => body });
    const input = { target: '/t', body: 'b' };
    const signed = (text: string) => ({ ...input, headers: { 'x-sig': mac('sha256', secret, 'hex', text) } });
    expect(verdictOf(many, signed('/t\nb'))).toBe('verified');
    expect(verdictOf(one, signed('b'))).toBe('verified');
    expect(verdictOf(one, signed('/t\nb'))).toBe('401 signature_mismatch');
  });

  test('a URL for each namespace; one that is missing does not start and does not verify', () => {
    const urls: Record<string, string> = { acme: 'https://acme.example/hook', odd: 'acme.example' };
    const scheme = signatures.square({ secret, url: ({ namespace }) => urls[namespace] });
    const headers = {
      'x-square-hmacsha256-signature': mac('sha256', secret, 'base64', 'https://acme.example/hook', 'b'),
    };
    scheme.prepare(SCOPE);
    expect(verdictOf(scheme, { headers, body: 'b' })).toBe('verified');
    for (const namespace of ['other', 'odd']) {
      const { code, message } = thrownBy(() => scheme.prepare({ ...SCOPE, namespace }));
      expect(code).toBe('invalid_configuration');
      expect(message).toBe(
        `namespace ${namespace}, pack connector, route events: the url is not an absolute URL`,
      );
      expect(verdictOf(scheme, { headers, body: 'b', namespace })).toBe('401 url_unavailable');
    }
    const throwing = signatures.hubspot({
      secret,
      url: () => {
        throw new Error('no table');
      },
    });
    expect(thrownBy(() => throwing.prepare(SCOPE)).code).toBe('invalid_configuration');
  });

  test('wrong options are named all at once', () => {
    const build = signatures.hmac as (options: unknown) => unknown;
    const { code, message } = thrownBy(() =>
      build({
        secret,
        header: 'x sig',
        algorithm: 'md5',
        encoding: 'hexx',
        timestamp: { header: '', unit: 'minutes', toleranceMs: Number.NaN },
        signed: '{url}{body}',
      }),
    );
    expect(code).toBe('invalid_pack');
    expect(message.split('; ')).toEqual([
      'signatures.hmac: header: must be a header name',
      'signatures.hmac: algorithm: must be sha1, sha256 or sha512',
      'signatures.hmac: encoding: must be hex, base64 or base64url',
      'signatures.hmac: timestamp.header: must be a header name',
      'signatures.hmac: timestamp.unit: must be seconds or milliseconds',
      'signatures.hmac: timestamp.toleranceMs: must be a number above 0',
      'signatures.hmac: signed: {url} needs the option url',
      'signatures.hmac: signed: must contain {timestamp}',
    ]);
    expect(() => build({ secret })).toThrow(/^signatures\.hmac: header: must be a header name$/);
    expect(() => build({ header: 'x', signed: 5, tolerance: 1 })).toThrow(
      /^signatures\.hmac: secret: .*undefined; .*: signed: must be a template or .*: tolerance: is not a known field$/,
    );
    const faultOf = (signed: string) => thrownBy(() => build({ secret, header: 'x', signed })).message;
    expect(faultOf('{timestamp}.{body}')).toContain('{timestamp} needs the option timestamp');
    expect(faultOf('{Body}')).toContain(
      '{Body} is not one of {method}, {url}, {target}, {timestamp}, {body}',
    );
  });

  test('an empty secret is no key that anyone could sign with', () => {
    for (const empty of ['', [''], () => '']) {
      const scheme = signatures.hmac({ secret: empty, header: 'x-sig' });
      const headers = { 'x-sig': mac('sha256', '', 'hex', 'b') };
      expect(verdictOf(scheme, { headers, body: 'b' })).toBe('401 secret_unavailable');
    }
  });

  test('header names match in any case', () => {
    const letters = [...'x-lanehead-signature'];
    const casing = fc.array(fc.boolean(), { minLength: letters.length, maxLength: letters.length });
    const cased = (flags: boolean[]) => letters.map((c, i) => (flags[i] ? c.toUpperCase() : c)).join('');
    fc.assert(
      fc.property(casing, casing, (configured, sent) => {
        const scheme = signatures.hmac({ secret, header: cased(configured) });
        const headers = { [cased(sent)]: mac('sha256', secret, 'hex', 'b') };
        expect(verdictOf(scheme, { headers, body: 'b' })).toBe('verified');
      }),
    );
  });
});

describe('[signature] providers that are configurations of hmac', () => {
  test('Slack: the published example', () => {
    const body =
      'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V' +
      '&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=' +
      '&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN' +
      '&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c';
    const headers = {
      'X-Slack-Signature': 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503',
      'X-Slack-Request-Timestamp': '1531420618',
    };
    const slack = signatures.slack({ secret: '8f742231b10e8888abcd99yyyzzz85a5' });
    expect(verdictOf(slack, { headers, body, receivedAt: 1_531_420_618_000 })).toBe('verified');
  });

  test('Shopify: U+2028 in the body', () => {
    const body = '{"note":"a\u2028b"}';
    const headers = { 'X-Shopify-Hmac-SHA256': mac('sha256', secret, 'base64', body) };
    expect(verdictOf(signatures.shopify({ secret }), { headers, body })).toBe('verified');
  });

  test('HubSpot v3: method, URL and timestamp are signed; reserved escapes of the URL are decoded', () => {
    const hubspot = signatures.hubspot({ secret, url: URL_AT_PROVIDER });
    const signed = signHubspot(secret, String(NOW), '{}');
    expect(verdictOf(hubspot, signed)).toBe('verified');
    expect(verdictOf(hubspot, { ...signed, method: 'PUT' })).toBe('401 signature_mismatch');
    expect(verdictOf(signatures.hubspot({ secret, url: `${URL_AT_PROVIDER}&y` }), signed)).toBe(
      '401 signature_mismatch',
    );
    const escaped = URL_AT_PROVIDER.replace('?x=1', '?x=a%2Fb%3ac%20d%25');
    const decoded = URL_AT_PROVIDER.replace('?x=1', '?x=a/b:c%20d%25');
    const signature = mac('sha256', secret, 'base64', 'POST', decoded, '{}', String(NOW));
    const headers = { 'x-hubspot-signature-v3': signature, 'x-hubspot-request-timestamp': String(NOW) };
    expect(verdictOf(signatures.hubspot({ secret, url: escaped }), { headers, body: '{}' })).toBe('verified');
    expect(verdictOf(signatures.hubspot({ secret, url: () => escaped }), { headers, body: '{}' })).toBe(
      'verified',
    );
  });

  test('Square: the configured URL counts, whatever Host and target say', () => {
    const square = signatures.square({ secret, url: URL_AT_PROVIDER });
    const signature = mac('sha256', secret, 'base64', URL_AT_PROVIDER, '{}');
    const headers = { 'x-square-hmacsha256-signature': signature, Host: '10.0.0.7:8420' };
    expect(verdictOf(square, { headers, body: '{}', target: '/internal' })).toBe('verified');
    const asSeen = mac('sha256', secret, 'base64', 'https://10.0.0.7:8420/internal', '{}');
    const forged = { headers: { ...headers, 'x-square-hmacsha256-signature': asSeen }, body: '{}' };
    expect(verdictOf(square, { ...forged, target: '/internal' })).toBe('401 signature_mismatch');
  });

  test('Intercom: SHA-1 over the raw bytes', () => {
    const body = Buffer.from([0x7b, 0xff, 0x7d]);
    const headers = { 'X-Hub-Signature': `sha1=${mac('sha1', secret, 'hex', body)}` };
    expect(verdictOf(signatures.intercom({ secret }), { headers, body })).toBe('verified');
    const sha256 = { 'X-Hub-Signature': `sha1=${mac('sha256', secret, 'hex', body)}` };
    expect(verdictOf(signatures.intercom({ secret }), { headers: sha256, body })).toBe(
      '401 signature_mismatch',
    );
  });

  test.each([
    ['slack', signatures.slack({ secret: NEW }), signSlack],
    ['zoom', signatures.zoom({ secret: NEW }), signZoom],
    ['hubspot', signatures.hubspot({ secret: NEW, url: URL_AT_PROVIDER }), signHubspot],
  ] as const)('%s: a timestamp that is no number never skips the check', (_, scheme, sign) => {
    for (const junk of ['NaN', 'x', '1e3', '+1', ' ', '0x10', '١٢٣', '1'.repeat(16)]) {
      expect(verdictOf(scheme, sign(NEW, junk, 'b'))).toBe('401 timestamp_invalid');
    }
    expect(verdictOf(scheme, sign(NEW, '', 'b'))).toBe('401 timestamp_missing');
    expect(verdictOf(scheme, sign(NEW, NOW_SECONDS, 'b'))).toMatch(/verified|tolerance/);
  });
});

test('[signature] a time of receipt that is no number refuses too', () => {
  const slack = signatures.slack({ secret: NEW });
  const signed = { ...signSlack(NEW, NOW_SECONDS, 'b'), receivedAt: Number.NaN };
  expect(verdictOf(slack, signed)).toBe('401 timestamp_outside_tolerance');
});
