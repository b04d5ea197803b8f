import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { ERRORS } from '../../src/core/errors.js';
import { problem } from '../../src/ingress/answer.js';
import { routesOf } from '../../src/ingress/route-table.js';
import { definePack } from '../../src/packs/define-pack.js';
import type { PackStatus } from '../../src/store/store.js';
import {
  BODY_LIMIT_BYTES,
  deliver,
  deliverChunked,
  type Fixture,
  jsonOfLength,
  NAMESPACES,
  PUSH,
  pushRoute,
  SECRET,
  sign,
  startIngress,
  testPack,
} from './ingress-fixture.js';
import { RawConnection } from './raw-connection.js';

const NOTHING = { receipts: 0, events: 0 };

test('[ADM-1] a new delivery is answered 202 with its receipt, which is stored byte for byte', async () => {
  const { url, store, decisions, stored } = await startIngress();
  const response = await deliver(url);
  const answer = (await response.json()) as { receipt: string };
  expect(response.status).toBe(202);
  expect(response.headers.get('content-type')).toBe('application/json');
  expect(answer).toEqual({
    receipt: expect.stringMatching(/^rcp_/),
    events: 1,
    duplicate: false,
    conflict: false,
  });
  expect(await stored()).toEqual({ receipts: 1, events: 1 });
  const receipt = await store.loadReceipt(answer.receipt);
  expect(Buffer.from(receipt!.body).toString('utf8')).toBe(PUSH);
  expect(decisions).toEqual(['accepted']);
});

test('[ADM-1] the same bytes again are answered 200 with the first receipt, and counted', async () => {
  const { url, decisions, stored } = await startIngress();
  const first = (await (await deliver(url)).json()) as { receipt: string };
  const again = await deliver(url);
  expect(again.status).toBe(200);
  expect(await again.json()).toEqual({ receipt: first.receipt, events: 1, duplicate: true, conflict: false });
  expect(await stored()).toEqual({ receipts: 1, events: 1 });
  expect(decisions).toEqual(['accepted', 'duplicate']);
});

test('FIELD: the same id with other bytes is kept apart and flagged', async () => {
  const { url, store, decisions, stored } = await startIngress();
  await deliver(url);
  const other = await deliver(url, { body: JSON.stringify({ repository: 'acme/site', message: 'other' }) });
  expect(other.status).toBe(202);
  expect(await other.json()).toMatchObject({ duplicate: false, conflict: true });
  expect(await stored()).toEqual({ receipts: 2, events: 2 });
  const { items } = await store.listEvents({ limit: 10 });
  expect(items.filter((event) => event.conflictOf !== null)).toHaveLength(1);
  expect(decisions).toEqual(['accepted', 'conflict']);
});

test('FIELD: the same id from two namespaces is two Events', async () => {
  const { url, store } = await startIngress();
  for (const namespace of NAMESPACES) {
    expect((await deliver(url, { path: `/in/${namespace}/code/push` })).status).toBe(202);
  }
  const { items } = await store.listEvents({ limit: 10 });
  expect(items.map((event) => event.namespace).sort()).toEqual([...NAMESPACES]);
});

test("a route's ack replaces every 2xx answer and no other", async () => {
  const { url, stored } = await startIngress();
  for (const _ of ['new', 'duplicate']) {
    const response = await deliver(url, { path: '/in/acme/code/acked' });
    expect(response.status).toBe(201);
    expect(response.headers.get('content-type')).toBe('text/xml');
    expect(await response.text()).toBe('<ok/>');
  }
  const unsigned = await deliver(url, {
    path: '/in/acme/code/acked',
    headers: { 'x-hub-signature-256': '' },
  });
  expect(unsigned.status).toBe(401);
  expect(await stored()).toEqual({ receipts: 1, events: 1 });
});

test('FIELD: a missing or wrong signature is answered 401 with one identical body, and nothing of it is kept', async () => {
  const { url, stored, logged, decisions } = await startIngress();
  const wrong = [
    { 'x-hub-signature-256': '' },
    { 'x-hub-signature-256': 'sha256=00' },
    { 'x-hub-signature-256': sign(PUSH, 'another secret') },
    { 'x-hub-signature-256': sign(`${PUSH} `) },
    { 'x-hub-signature-256': sign(PUSH).replace('sha256=', 'sha1=') },
  ];
  const bodies = new Set<string>();
  for (const headers of wrong) {
    const response = await deliver(url, { headers });
    expect(response.status).toBe(401);
    bodies.add(`${response.headers.get('content-type')} ${await response.text()}`);
  }
  expect([...bodies]).toHaveLength(1);
  expect(await stored()).toEqual(NOTHING);
  expect(logged()).not.toMatch(/acme\/site|Größe|another secret|it is known/);
  expect(decisions).toEqual(wrong.map(() => 'invalid_signature'));
});

test('FIELD: what names no installed route is 404', async () => {
  const { url, stored, decisions } = await startIngress();
  const paths = [
    '/',
    '/in',
    '/in/acme/code',
    '/in/nobody/code/push',
    '/in/acme/other/push',
    '/in/acme/code/other',
  ];
  const odd = [
    '/in/acme/code/push/',
    '/in//acme/code/push',
    '/IN/acme/code/push',
    '/in/acme/code/%zz',
    '/in/a%2Fb/c/d',
  ];
  for (const path of [...paths, ...odd]) {
    const response = await deliver(url, { path, headers: { 'content-type': 'no media type' } });
    expect([path, response.status]).toEqual([path, 404]);
    expect(await response.json()).toMatchObject({ status: 404, code: 'unknown_route' });
  }
  expect(await stored()).toEqual(NOTHING);
  expect(new Set(decisions)).toEqual(new Set(['unknown_route']));
});

test('an encoded name is the name', async () => {
  const { url } = await startIngress();
  expect((await deliver(url, { path: '/in/%61cme/code/push?x=1' })).status).toBe(202);
});

test('FIELD: a wrong method is 405 with Allow', async () => {
  const { url, stored } = await startIngress();
  for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND', 'QUERY']) {
    const response = await fetch(`${url}/in/acme/code/push`, { method });
    expect([method, response.status, response.headers.get('allow')]).toEqual([method, 405, 'POST']);
  }
  const withHandshake = await fetch(`${url}/in/acme/code/meta`, { method: 'PUT' });
  expect(withHandshake.headers.get('allow')).toBe('POST, GET, HEAD');
  expect(await stored()).toEqual(NOTHING);
});

test('FIELD: a paused pack is 503 with Retry-After, a retired one 410, as the look-up says', async () => {
  let status: PackStatus = 'paused';
  const { url, stored } = await startIngress({
    resolve: (namespace, pack, route) => {
      const installation = { packId: 1, namespace, pack, version: '1.0.0', generation: 1, status };
      return routesOf([{ pack: testPack, installed: installation }])(namespace, pack, route);
    },
  });
  const paused = await deliver(url);
  expect([paused.status, paused.headers.get('retry-after')]).toEqual([503, '60']);
  expect(await paused.json()).toMatchObject({ code: 'paused', reason: 'paused' });
  status = 'retired';
  expect((await deliver(url)).status).toBe(410);
  expect(await stored()).toEqual(NOTHING);
});

test('FIELD: a pack paused or retired since is refused by its authority row', async () => {
  const { url, store, installed, stored } = await startIngress();
  const { packId } = installed[0]!;
  await store.setPackStatus(packId, 'paused');
  const paused = await deliver(url);
  expect([paused.status, (await paused.json()) as object]).toEqual([
    503,
    expect.objectContaining({ reason: 'paused' }),
  ]);
  await store.setPackStatus(packId, 'retired');
  expect((await deliver(url)).status).toBe(410);
  expect(await stored()).toEqual(NOTHING);
});

test('FIELD: an unexpected Content-Encoding is 415 before anything is decompressed, identity passes', async () => {
  const { url, stored, decisions } = await startIngress();
  for (const encoding of ['gzip', 'br', 'identity, gzip', 'GZIP']) {
    const response = await deliver(url, { headers: { 'content-encoding': encoding } });
    expect([encoding, response.status]).toEqual([encoding, 415]);
  }
  expect(await stored()).toEqual(NOTHING);
  expect(decisions).toEqual(Array.from({ length: 4 }, () => 'unsupported_encoding'));
  expect((await deliver(url, { headers: { 'content-encoding': 'identity' } })).status).toBe(202);
});

test('FIELD: a gzip bomb is never unpacked: over the limit 413, else 415, and bare it is just its bytes', async () => {
  const { url, stored } = await startIngress();
  const bomb = (megabytes: number) => new Uint8Array(gzipSync(Buffer.alloc(megabytes * 2 ** 20)));
  const gzip = { 'content-encoding': 'gzip' };
  expect((await deliver(url, { body: bomb(64), headers: gzip })).status).toBe(413);
  expect((await deliver(url, { body: bomb(64) })).status).toBe(413);
  expect((await deliver(url, { body: bomb(8), headers: gzip })).status).toBe(415);
  expect(await stored()).toEqual(NOTHING);
  expect((await deliver(url, { body: bomb(8) })).status).toBe(202);
});

test('FIELD: a signed body that is no UTF-8 is kept byte for byte', async () => {
  const { url, store } = await startIngress();
  const body = Uint8Array.from({ length: 256 }, (_, byte) => byte);
  const response = await deliver(url, {
    body,
    headers: { 'content-type': 'multipart/form-data; boundary=x' },
  });
  expect(response.status).toBe(202);
  const { receipt } = (await response.json()) as { receipt: string };
  expect(Buffer.from((await store.loadReceipt(receipt))!.body).equals(body)).toBe(true);
});

test('FIELD: a body over the limit is 413 by its announced length, before a byte of it is read', async () => {
  const { url, stored } = await startIngress();
  const connection = await RawConnection.open(url);
  const head = [
    'POST /in/acme/code/push HTTP/1.1',
    'Host: x',
    `Content-Length: ${BODY_LIMIT_BYTES + 1}`,
    '',
    '',
  ];
  const response = await connection.send(head.join('\r\n')).response();
  expect(response.status).toBe(413);
  expect(response.headers['content-type']).toBe('application/problem+json');
  connection.destroy();
  expect(await stored()).toEqual(NOTHING);
});

test('FIELD: a chunked body over the limit is 413, and nothing of it is stored', async () => {
  const { url, stored, decisions } = await startIngress();
  const body = jsonOfLength(BODY_LIMIT_BYTES + 1);
  expect((await deliverChunked(url, body)).status).toBe(413);
  expect(await stored()).toEqual(NOTHING);
  expect(decisions).toEqual(['payload_too_large']);
});

test('a body of exactly the limit is stored whole, chunked or not', async () => {
  const { url, store } = await startIngress();
  const body = jsonOfLength(BODY_LIMIT_BYTES);
  expect((await deliver(url, { body })).status).toBe(202);
  expect((await deliverChunked(url, body)).status).toBe(200);
  const { items } = await store.listReceipts({ limit: 10 });
  expect(items.map((receipt) => receipt.bodyBytes)).toEqual([BODY_LIMIT_BYTES]);
});

test('a route without a limit of its own has the process limit', async () => {
  const { url } = await startIngress({ maxBodyBytes: 100 });
  expect((await deliver(url, { path: '/in/acme/code/acked', body: jsonOfLength(101) })).status).toBe(413);
  expect((await deliver(url, { path: '/in/acme/code/acked', body: jsonOfLength(100) })).status).toBe(201);
});

test.each([
  ['application/cloudevents+json'],
  ['no media type'],
  ['text/plain; charset="'],
  ['application/json; charset=utf-16'],
])('FIELD: with Content-Type %s the raw bytes are kept', async (contentType) => {
  await expectKept(await startIngress(), { 'content-type': contentType });
});

test('FIELD: without a Content-Type the raw bytes are kept', async () => {
  await expectKept(await startIngress(), {}, new TextEncoder().encode(PUSH));
});

async function expectKept(
  { url, store }: Fixture,
  headers: Readonly<Record<string, string>>,
  body: string | Uint8Array<ArrayBuffer> = PUSH,
): Promise<void> {
  const response = await deliver(url, { body, headers });
  expect(response.status).toBe(202);
  const { receipt } = (await response.json()) as { receipt: string };
  expect(Buffer.from((await store.loadReceipt(receipt))!.body).toString('utf8')).toBe(PUSH);
}

test('FIELD: signed but broken JSON is 202, and the receipt waits in quarantine', async () => {
  const { url, store, decisions } = await startIngress();
  const response = await deliver(url, { body: '{"repository":' });
  expect([response.status, await response.json()]).toEqual([202, expect.objectContaining({ events: 0 })]);
  const { items } = await store.listReceipts({ status: 'quarantined', limit: 10 });
  expect(items).toHaveLength(1);
  expect(decisions).toEqual(['quarantined']);
});

test('FIELD: __proto__ keys are 202 and harm nothing', async () => {
  const { url, store } = await startIngress();
  const body = '{"__proto__":{"polluted":true},"repository":"acme/site"}';
  expect((await deliver(url, { body })).status).toBe(202);
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  expect((await store.listEvents({ limit: 1 })).items[0]?.sourceKey).toBe('acme/site');
});

test('credentials are not stored, other headers are, as received', async () => {
  const { url, store } = await startIngress();
  const headers = { authorization: 'Bearer abc', cookie: 'session=1', 'X-Custom': 'Kept' };
  const { receipt } = (await (await deliver(url, { headers })).json()) as { receipt: string };
  const stored = new Map(
    (await store.loadReceipt(receipt))!.headers.map(([name, value]) => [name.toLowerCase(), value]),
  );
  expect(stored.get('x-custom')).toBe('Kept');
  expect([stored.has('authorization'), stored.has('cookie')]).toEqual([false, false]);
});

test('FIELD: a Meta handshake is answered with the bare challenge, a wrong token with 403, and none is stored', async () => {
  const { url, stored, decisions } = await startIngress();
  const ask = (token: string, method = 'GET'): Promise<Response> => {
    const query = new URLSearchParams({
      'hub.mode': 'subscribe',
      'hub.challenge': '<b>1</b>',
      'hub.verify_token': token,
    });
    return fetch(`${url}/in/acme/code/meta?${query}`, { method });
  };
  const right = await ask('a token');
  expect([right.status, await right.text()]).toEqual([200, '<b>1</b>']);
  expect(right.headers.get('content-type')).toMatch(/^text\/plain/);
  expect(right.headers.get('x-content-type-options')).toBe('nosniff');
  const head = await ask('a token', 'HEAD');
  expect([head.status, head.headers.get('content-length')]).toEqual([200, '8']);
  const wrong = await ask('another');
  expect([wrong.status, await wrong.json()]).toEqual([
    403,
    expect.objectContaining({ code: 'handshake_refused' }),
  ]);
  expect(await stored()).toEqual(NOTHING);
  expect(decisions).toEqual(['handshake', 'handshake', 'handshake_refused']);
});

test('FIELD: a signed Slack url_verification is echoed, an unsigned one is 401, and none is stored', async () => {
  const { url, stored } = await startIngress();
  const body = JSON.stringify({ type: 'url_verification', challenge: '3eZbrw1aB' });
  const timestamp = String(Math.floor(Date.now() / 1000));
  const signature = sign(`v0:${timestamp}:${body}`, SECRET).replace('sha256=', 'v0=');
  const headers = { 'x-slack-request-timestamp': timestamp, 'x-slack-signature': signature };
  const signed = await deliver(url, { path: '/in/acme/code/slack', body, headers });
  expect([signed.status, await signed.text()]).toEqual([200, '3eZbrw1aB']);
  const unsigned = await deliver(url, { path: '/in/acme/code/slack', body });
  expect(unsigned.status).toBe(401);
  expect(await stored()).toEqual(NOTHING);
});

test('a GET that a scheme takes for verified stores nothing', async () => {
  const verify = {
    name: 'lax',
    methods: ['POST', 'GET'],
    prepare: () => {},
    verify: () => ({ kind: 'verified' as const }),
  };
  const pack = definePack({ name: 'code', version: '1.0.0', routes: { lax: { ...pushRoute, verify } } });
  const { url, stored } = await startIngress({ pack });
  expect((await fetch(`${url}/in/acme/code/lax`)).status).toBe(403);
  expect(await stored()).toEqual(NOTHING);
});

test('every refusal is a problem of the error table; every 503 says why and when to come back', () => {
  const codes = Object.keys(ERRORS) as (keyof typeof ERRORS)[];
  const reasons = ['overloaded', 'store_unavailable', 'commit_deadline', 'paused', 'draining'];
  for (const code of codes.filter(isRefusal)) {
    const { status, contentType, headers, body } = problem(code);
    const { title, action } = ERRORS[code];
    const { type, reason, ...rest } = JSON.parse(body.toString('utf8')) as Record<string, unknown>;
    expect(contentType).toBe('application/problem+json');
    expect(rest).toEqual({ title, status: ERRORS[code].status, code, detail: action });
    expect(type).toBe(`urn:lanehead:error:${code}`);
    expect(reason !== undefined).toBe(status === 503);
    if (status !== 503) continue;
    expect(reasons).toContain(reason);
    expect(headers['retry-after']).toMatch(/^[1-9]\d{0,2}$/);
    expect(Number(headers['retry-after'])).toBeLessThanOrEqual(120);
  }
});

type RefusalCode = Parameters<typeof problem>[0];

/** Those that leave by the ingress: everything with a status except what only the admin side answers. */
function isRefusal(code: keyof typeof ERRORS): code is RefusalCode {
  return ERRORS[code].status !== null && code !== 'not_found';
}
