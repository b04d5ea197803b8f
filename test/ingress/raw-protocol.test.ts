import { describe, expect, test } from 'vitest';
import { CommitGate } from './commit-gate.js';
import { eventually, type Fixture, PUSH, rawHead, sign, startIngress } from './ingress-fixture.js';
import { RawConnection, type RawResponse } from './raw-connection.js';

const NOTHING = { receipts: 0, events: 0 };
const BODY = Buffer.from(PUSH, 'utf8').toString('latin1');
const SIGNED = [
  `X-Hub-Signature-256: ${sign(PUSH)}`,
  'X-GitHub-Delivery: d-1',
  `Content-Length: ${BODY.length}`,
];

/** Sends the bytes, expects one refusal of this status and code, and that the server closes the connection after it. */
async function expectRefused(
  { url, stored, decisions }: Fixture,
  bytes: string,
  status: number,
  code: string,
): Promise<RawResponse> {
  const connection = await RawConnection.open(url);
  const response = await connection.send(bytes).response();
  expect([response.status, response.headers['content-type']]).toEqual([status, 'application/problem+json']);
  expect(JSON.parse(response.body)).toMatchObject({ status, code });
  expect(response.headers.connection).toBe('close');
  // Some clients wait for the server to go first, others for the answer; neither waits for ever.
  connection.socket.end();
  expect(await connection.closed()).toBe('');
  expect(await stored()).toEqual(NOTHING);
  expect(decisions).toEqual([code]);
  return response;
}

const HEAD = rawHead(...SIGNED);
/** One byte is missing, and what came is signed: whoever took it for the whole would store it. */
const TRUNCATED = HEAD.replace(`Length: ${BODY.length}`, `Length: ${BODY.length + 1}`);
const CHUNKED = rawHead(SIGNED[0]!, SIGNED[1]!, 'Transfer-Encoding: chunked');

describe('FIELD: what is no HTTP message is 400, and nothing is stored', () => {
  test.each([
    ['Content-Length and Transfer-Encoding', `${HEAD}Transfer-Encoding: chunked\r\n\r\n${BODY}`],
    ['Transfer-Encoding and Content-Length', `${CHUNKED}Content-Length: 3\r\n\r\n0\r\n\r\n`],
    ['two equal lengths', `${HEAD}Content-Length: ${BODY.length}\r\n\r\n${BODY}`],
    ['two different lengths', `${HEAD}Content-Length: 1\r\n\r\n${BODY}`],
    ['a signed length', `${rawHead('Content-Length: +3')}\r\nabc`],
    ['a negative length', `${rawHead('Content-Length: -3')}\r\nabc`],
    ['a hexadecimal length', `${rawHead('Content-Length: 0x3')}\r\nabc`],
    ['a list of lengths', `${rawHead('Content-Length: 3, 3')}\r\nabc`],
    ['an empty length', `${rawHead('Content-Length:')}\r\nabc`],
    ['a length beyond 2^64', `${rawHead('Content-Length: 99999999999999999999')}\r\nabc`],
    ['a chunk size that is no number', `${CHUNKED}\r\nzz\r\n${BODY}\r\n0\r\n\r\n`],
    ['a chunk longer than its size', `${CHUNKED}\r\n3\r\nabcdef\r\n0\r\n\r\n`],
    ['chunks that end in a bare LF', `${CHUNKED}\r\n3\nabc\n0\n\n`],
    ['a coding before chunked', `${rawHead('Transfer-Encoding: gzip, chunked')}\r\n0\r\n\r\n`],
    ['an unknown coding', `${rawHead('Transfer-Encoding: xchunked')}\r\n0\r\n\r\n`],
    ['the coding identity', `${rawHead('Transfer-Encoding: identity')}\r\n`],
    ['chunked twice', `${CHUNKED}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['chunked in HTTP/1.0', `${CHUNKED.replace('HTTP/1.1', 'HTTP/1.0')}\r\n0\r\n\r\n`],
    ['a folded header', `${HEAD}X-Folded: one\r\n two\r\n\r\n${BODY}`],
    ['NUL in a value', `${HEAD}X-Nul: o\0ne\r\n\r\n${BODY}`],
    ['NUL in a name', `${HEAD}X-\0Nul: one\r\n\r\n${BODY}`],
    ['a bare CR in a value', `${HEAD}X-Cr: o\rne\r\n\r\n${BODY}`],
    ['a space before the colon', `${HEAD}X-Space : one\r\n\r\n${BODY}`],
    ['two Hosts', `${HEAD}hOST: other\r\n\r\n${BODY}`],
    ['two equal Hosts', `${HEAD}Host: test\r\n\r\n${BODY}`],
    ['no Host', `${HEAD.replace('Host: test\r\n', '')}\r\n${BODY}`],
    ['HTTP/0.9', `GET /in/acme/code/push\r\n\r\n`],
    ['HTTP/2 without asking', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['TLS', '\x16\x03\x01\x00\xa5\x01\x00'],
  ])('%s', async (_name, bytes) => {
    await expectRefused(await startIngress(), bytes, 400, 'bad_request');
  });
});

test('FIELD: two Hosts are found behind two thousand other headers', async () => {
  const fixture = await startIngress({ http: { headerBytes: 65_536 } });
  const many = 'a:\r\n'.repeat(2_500);
  await expectRefused(fixture, `${HEAD}${many}Host: other\r\n\r\n${BODY}`, 400, 'bad_request');
});

test.each([
  ['headers', `${HEAD}X-Long: ${'x'.repeat(16_384)}\r\n\r\n${BODY}`],
  ['a URL', `POST /in/acme/code/${'x'.repeat(16_384)} HTTP/1.1\r\nHost: test\r\n\r\n`],
  ['many short headers', `${HEAD}${'x: y\r\n'.repeat(10_000)}\r\n${BODY}`],
])('FIELD: %s over 16 KiB are 431', async (_name, bytes) => {
  await expectRefused(await startIngress(), bytes, 431, 'headers_too_large');
});

test('headers a little under 16 KiB are fine', async () => {
  const { url } = await startIngress();
  const connection = await RawConnection.open(url);
  const response = await connection.send(`${HEAD}X-Long: ${'x'.repeat(15_500)}\r\n\r\n${BODY}`).response();
  expect(response.status).toBe(202);
  connection.destroy();
});

const SHORT = { headersTimeoutMs: 50, requestTimeoutMs: 100, timeoutCheckMs: 20 };

test('FIELD: slow headers are 408', async () => {
  await expectRefused(await startIngress({ http: SHORT }), HEAD, 408, 'request_timeout');
});

test('FIELD: a slow body is 408, and nothing of it is stored', async () => {
  const bytes = `${TRUNCATED}\r\n${BODY}`;
  await expectRefused(await startIngress({ http: SHORT }), bytes, 408, 'request_timeout');
});

test('FIELD: a truncated body is not stored, and its place is free again', async () => {
  const { url, stored, decisions, ingress } = await startIngress({
    inFlight: { requests: 1, bytes: 1_000_000 },
  });
  const connection = await RawConnection.open(url);
  connection.send(`${TRUNCATED}Expect: 100-continue\r\n\r\n`);
  // The interim answer shows that the body is being waited for.
  expect((await connection.response()).status).toBe(100);
  connection.send(BODY).socket.resetAndDestroy();
  await eventually(() => decisions).toEqual(['truncated']);
  expect(await stored()).toEqual(NOTHING);
  const next = await ingress.handle(new Request('http://x/in/acme/code/push', { method: 'POST', body: '' }));
  expect(next.status).toBe(401);
});

test('FIELD: a body cut off by the end of the connection is 400 and not stored', async () => {
  const { url, stored, decisions } = await startIngress();
  const connection = await RawConnection.open(url);
  connection.send(`${TRUNCATED}\r\n${BODY}`).socket.end();
  expect((await connection.response()).status).toBe(400);
  await connection.closed();
  expect(await stored()).toEqual(NOTHING);
  expect(decisions).toEqual(['truncated']);
});

test('[ADM-1] a client that closes its side behind a whole request gets its answer', async () => {
  const gate = new CommitGate();
  const { url } = await startIngress({ materialize: gate.wrap });
  const connection = await RawConnection.open(url);
  connection.send(`${HEAD}\r\n${BODY}`).socket.end();
  await gate.untilAsked(1);
  // The server has heard of the end by the time that it has answered somebody who came after it.
  for (let i = 0; i < 3; i++) expect((await fetch(`${url}/livez`)).status).toBe(200);
  gate.open();
  expect((await connection.response()).status).toBe(202);
  await connection.closed();
});

test('[ADM-1] garbage behind a good request is never answered in its place', async () => {
  const gate = new CommitGate();
  const { url, stored } = await startIngress({ materialize: gate.wrap });
  const connection = await RawConnection.open(url);
  connection.send(`${HEAD}\r\n${BODY}GARBAGE\r\n\r\n`);
  await gate.untilAsked(1);
  expect(await connection.closed()).toBe('');
  gate.open();
  await eventually(stored).toEqual({ receipts: 1, events: 1 });
});

test('pipelined requests are answered in their order', async () => {
  const { url, stored } = await startIngress();
  const connection = await RawConnection.open(url);
  const wrong = `POST /nowhere HTTP/1.1\r\nHost: test\r\nContent-Length: 3\r\n\r\nabc`;
  connection.send(`${HEAD}\r\n${BODY}${wrong}${HEAD}\r\n${BODY}`);
  const statuses: number[] = [];
  for (let i = 0; i < 3; i++) statuses.push((await connection.response()).status);
  expect(statuses).toEqual([202, 404, 200]);
  connection.destroy();
  expect(await stored()).toEqual({ receipts: 1, events: 1 });
});

describe('100 Continue behind an answer that is still owed', () => {
  const expecting = HEAD.replace('d-1', 'd-2').replace('Host: test', 'Host: test\r\nExpect: 100-continue');

  async function behindAnother(more: string) {
    const gate = new CommitGate();
    const { url } = await startIngress({ materialize: gate.wrap });
    const connection = await RawConnection.open(url);
    connection.send(`${HEAD}\r\n${BODY}${expecting}\r\n${more}`);
    await gate.untilAsked(1);
    gate.open();
    expect((await connection.response()).status).toBe(202);
    return connection;
  }

  test('comes after that answer', async () => {
    const connection = await behindAnother('');
    expect((await connection.response()).status).toBe(100);
    expect((await connection.send(BODY).response()).status).toBe(202);
    connection.destroy();
  });

  test('never stands within an answer that was ready first', async () => {
    const gate = new CommitGate();
    const { url, decisions } = await startIngress({ materialize: gate.wrap });
    const connection = await RawConnection.open(url);
    connection.send(`${HEAD}\r\n${BODY}${expecting.replace('sha256=', 'sha256=00')}\r\n${BODY}`);
    await eventually(() => decisions).toEqual(['invalid_signature']);
    gate.open();
    expect((await connection.response()).status).toBe(202);
    const { status, body } = await connection.response();
    expect([status, JSON.parse(body)]).toEqual([401, expect.objectContaining({ code: 'invalid_signature' })]);
    connection.socket.end();
    expect(await connection.closed()).toBe('');
  });
});

test('a request that asks for an upgrade is answered as any other, and nothing behind it is looked at', async () => {
  const { url, stored } = await startIngress();
  const connection = await RawConnection.open(url);
  const first = `${HEAD}Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n${BODY}`;
  const second = HEAD.replace('d-1', 'd-2');
  // Half of the second request comes with the first, and would be dropped; the rest must not become a request.
  connection.send(first + second.slice(0, 20));
  connection.send(`${second}\r\n${BODY}`);
  const response = await connection.response();
  expect([response.status, response.headers.connection]).toEqual([202, 'close']);
  await connection.closed();
  expect(await stored()).toEqual({ receipts: 1, events: 1 });
});

test('a target in absolute form is its path', async () => {
  const { url, store } = await startIngress();
  const connection = await RawConnection.open(url);
  const bytes = HEAD.replace('/in/acme', 'HTTP://other.example:99/in/acme');
  const response = await connection.send(`${bytes}\r\n${BODY}`).response();
  expect(response.status).toBe(202);
  const { receipt } = JSON.parse(response.body) as { receipt: string };
  expect((await store.loadReceipt(receipt))?.target).toBe('/in/acme/code/push');
  connection.destroy();
});

test('OPTIONS * names no route', async () => {
  const { url } = await startIngress();
  const connection = await RawConnection.open(url);
  expect((await connection.send('OPTIONS * HTTP/1.1\r\nHost: test\r\n\r\n').response()).status).toBe(404);
  connection.destroy();
});

describe('FIELD: X-Forwarded-For', () => {
  const spoofed = `${rawHead('X-Forwarded-For: 203.0.113.9', 'Content-Length: 0')}\r\n`;

  async function clientInLog(trustProxy: readonly string[]): Promise<unknown> {
    const { url, logged } = await startIngress({ trustProxy });
    const connection = await RawConnection.open(url);
    await connection.send(spoofed).response();
    connection.destroy();
    return (JSON.parse(logged().trim()) as { client: unknown }).client;
  }

  test('is ignored from anybody', async () => {
    expect(await clientInLog([])).toBe('127.0.0.1');
    expect(await clientInLog(['10.0.0.0/8'])).toBe('127.0.0.1');
  });

  test('is believed from a trusted proxy', async () => {
    expect(await clientInLog(['127.0.0.0/8'])).toBe('203.0.113.9');
  });
});

test('FIELD: CR, LF and ANSI in values do not reach the log as such', async () => {
  const { url, logged } = await startIngress({ trustProxy: ['127.0.0.1'] });
  const connection = await RawConnection.open(url);
  await connection.send(`${rawHead('X-Forwarded-For: \x1b[31mred', 'Content-Length: 0')}\r\n`).response();
  connection.destroy();
  expect(logged()).not.toContain('\x1b');
  expect(logged().trim().split('\n')).toHaveLength(1);
});
