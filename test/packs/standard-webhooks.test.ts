import { expect, test } from 'vitest';
import { signatures } from '../../src/packs/signatures.js';
import { mac, NOW, NOW_SECONDS, partsOf, SCOPE } from './request-parts.js';
import { thrownBy, verdictOf } from './requests.js';
import { NEW, OLD, signStandard } from './signed-requests.js';

const body = '{"type":"contact.created"}';
const scheme = signatures.standardWebhooks({ secret: NEW });
const headersOf = (secret = NEW) =>
  Object.fromEntries(partsOf(signStandard(secret, NOW_SECONDS, body)).headers);
const v1Of = (secret: string): string => headersOf(secret)['webhook-signature']!;
const verdict = (headers: Record<string, string>) =>
  verdictOf(scheme, { headers: { ...headersOf(), ...headers }, body });

test('[signature] Standard Webhooks: the published example', () => {
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
  const headers = {
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  };
  const example = { headers, body: '{"test": 2432232314}', receivedAt: 1_614_265_330_000 };
  expect(verdictOf(signatures.standardWebhooks({ secret }), example)).toBe('verified');
});

test('[signature] Standard Webhooks: a valid v1 in any place of the list', () => {
  const good = v1Of(NEW);
  const others = [
    v1Of(OLD),
    'v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg==',
    'v2,AAAA',
    'v1,',
  ];
  for (let place = 0; place <= others.length; place++) {
    const list = [...others.slice(0, place), good, ...others.slice(place)].join(' ');
    expect(verdict({ 'webhook-signature': list })).toBe('verified');
  }
  expect(verdict({ 'webhook-signature': others.join(' ') })).toBe('401 signature_mismatch');
});

test('[signature] Standard Webhooks: only unknown versions are refused', () => {
  const unknown = v1Of(NEW).replace('v1,', 'v2,');
  expect(verdict({ 'webhook-signature': unknown })).toBe('401 signature_missing');
  expect(verdict({ 'webhook-signature': `${unknown} v1a,AAAA` })).toBe('401 signature_missing');
  expect(verdict({ 'webhook-signature': v1Of(NEW).slice('v1,'.length) })).toBe('401 signature_missing');
});

test('[signature] Standard Webhooks: whsec_ and bare base64 are the same key', () => {
  const bare = signatures.standardWebhooks({ secret: NEW.slice('whsec_'.length) });
  expect(verdictOf(bare, { headers: headersOf(NEW), body })).toBe('verified');
  expect(verdictOf(scheme, { headers: headersOf(NEW.slice('whsec_'.length)), body })).toBe('verified');
});

test.each(['whsec_', 'whsec_A', 'not base64!', 'whsec_AAAA_'])(
  '[signature] Standard Webhooks: secret %j does not start',
  (secret) => {
    const useless = signatures.standardWebhooks({ secret });
    const { code, message } = thrownBy(() => useless.prepare(SCOPE));
    expect(code).toBe('invalid_configuration');
    expect(message).toBe(
      'namespace acme, pack connector, route events: the secret is not in the form this scheme needs',
    );
    const signature = `v1,${mac('sha256', '', 'base64', `msg_1.${NOW_SECONDS}.`, body)}`;
    const headers = {
      'webhook-id': 'msg_1',
      'webhook-timestamp': NOW_SECONDS,
      'webhook-signature': signature,
    };
    expect(verdictOf(useless, { headers, body })).toBe('401 secret_unavailable');
  },
);

test.each(['', 'NaN', 'soon', `${NOW_SECONDS}.5`, `0x${NOW.toString(16)}`, '-1'])(
  '[signature] Standard Webhooks: timestamp %j never skips the check',
  (timestamp) => {
    const key = Buffer.from(NEW.slice('whsec_'.length), 'base64').toString('latin1');
    const signature = `v1,${mac('sha256', key, 'base64', `msg_1.${timestamp}.`, body)}`;
    const headers = { 'webhook-timestamp': timestamp, 'webhook-signature': signature };
    expect(verdict(headers)).toBe(timestamp === '' ? '401 timestamp_missing' : '401 timestamp_invalid');
  },
);

test('[signature] Standard Webhooks: the id is signed, and needed', () => {
  expect(verdict({ 'webhook-id': 'msg_2' })).toBe('401 signature_mismatch');
  expect(verdict({ 'webhook-id': '' })).toBe('401 signature_missing');
});

test("[signature] Standard Webhooks: Svix's header names", () => {
  const svix = signatures.standardWebhooks({ secret: NEW, headerPrefix: 'svix' });
  const headers = Object.entries(headersOf()).map(
    ([name, value]) => [name.replace('webhook', 'svix'), value] as const,
  );
  expect(verdictOf(svix, { headers, body })).toBe('verified');
  expect(verdictOf(svix, { headers: headersOf(), body })).toBe('401 signature_missing');
});

test('[signature] Standard Webhooks: bytes that are not UTF-8', () => {
  const bytes = Buffer.from([0xff, 0x00, 0xc3, 0x28]);
  const raw = signatures.standardWebhooks({ secret: Buffer.from('a plain ascii key').toString('base64') });
  const signature = `v1,${mac('sha256', 'a plain ascii key', 'base64', `msg_1.${NOW_SECONDS}.`, bytes)}`;
  expect(verdictOf(raw, { headers: { ...headersOf(), 'webhook-signature': signature }, body: bytes })).toBe(
    'verified',
  );
});
