import { expect, test } from 'vitest';
import { BODY_LIMIT_BYTES, eventually, PUSH, rawHead, sign, startIngress } from './ingress-fixture.js';
import { ManualClock } from './manual-clock.js';
import { RawConnection } from './raw-connection.js';

const BODY = Buffer.from(PUSH, 'utf8').toString('latin1');
const SIGNED = [
  `X-Hub-Signature-256: ${sign(PUSH)}`,
  'X-GitHub-Delivery: d-1',
  `Content-Length: ${BODY.length}`,
];
const GOOD = `${rawHead(...SIGNED)}\r\n${BODY}`;

/** What the next request would be, if the body of a refused one were taken for it. */
const SMUGGLED = 'POST /in/acme/code/push HTTP/1.1\r\nHost: test\r\nX-GitHub-Delivery: smuggled\r\n\r\n';

test('a small refused body is dropped, and the connection serves the next request', async () => {
  const { url, decisions } = await startIngress();
  const connection = await RawConnection.open(url);
  const refused = `POST /in/acme/code/nothing HTTP/1.1\r\nHost: test\r\nContent-Length: ${SMUGGLED.length}\r\n\r\n`;
  // The answer comes before the body was sent.
  const answer = await connection.send(refused).response();
  expect([answer.status, answer.headers.connection]).toEqual([404, 'keep-alive']);
  expect((await connection.send(SMUGGLED + GOOD).response()).status).toBe(202);
  expect(decisions).toEqual(['unknown_route', 'accepted']);
  connection.destroy();
});

test('garbage in the place of a dropped body is not answered a second time', async () => {
  const { url, decisions } = await startIngress({
    http: { requestTimeoutMs: 1_000, headersTimeoutMs: 1_000, timeoutCheckMs: 20 },
  });
  const connection = await RawConnection.open(url);
  const head = 'POST /in/acme/code/nothing HTTP/1.1\r\nHost: test\r\nContent-Length: 100\r\n\r\n';
  expect((await connection.send(`${head}only a part`).response()).status).toBe(404);
  expect(await connection.closed()).toBe('');
  expect(decisions).toEqual(['unknown_route']);
});

test('behind a large refused body the connection is closed, after the answer could be read', async () => {
  const { url, stored, decisions } = await startIngress();
  const connection = await RawConnection.open(url);
  const length = 300_000;
  const answer = await connection.send(`${rawHead(`Content-Length: ${length}`)}\r\n`).response();
  expect([answer.status, answer.headers.connection]).toEqual([413, 'close']);
  connection.send('x'.repeat(length) + GOOD);
  expect(await connection.closed()).toBe('');
  expect(await stored()).toEqual({ receipts: 0, events: 0 });
  expect(decisions).toEqual(['payload_too_large']);
});

test('a sender in the middle of a chunked body that became too large reads its 413', async () => {
  const { url } = await startIngress();
  const connection = await RawConnection.open(url);
  const chunk = `1000\r\n${'x'.repeat(0x1000)}\r\n`;
  connection.send(`${rawHead('Transfer-Encoding: chunked')}\r\n`);
  for (let sent = 0; sent <= BODY_LIMIT_BYTES; sent += 0x1000) connection.send(chunk);
  const answer = await connection.response();
  expect([answer.status, answer.headers.connection]).toEqual([413, 'close']);
  connection.send(`${chunk}0\r\n\r\n`);
  await connection.closed();
});

test('a refused sender that never stops is cut off by time', async () => {
  const clock = new ManualClock();
  const { url } = await startIngress({ clock });
  const connection = await RawConnection.open(url);
  await connection.send(`${rawHead('Content-Length: 300000')}\r\n`).response();
  await eventually(() => clock.waiting).toBe(1);
  clock.advance(1_000);
  await connection.closed();
});

test('a refused sender that never stops is cut off by bytes', async () => {
  const { url } = await startIngress({ clock: new ManualClock() });
  const connection = await RawConnection.open(url);
  await connection.send(`${rawHead('Content-Length: 300000000')}\r\n`).response();
  for (let i = 0; i < 40; i++) connection.send('x'.repeat(2 ** 17));
  await connection.closed();
});

test('Expect: 100-continue is answered by the refusal itself; a body that comes all the same is taken off', async () => {
  const clock = new ManualClock();
  const { url, stored } = await startIngress({ clock });
  const connection = await RawConnection.open(url);
  const head = rawHead(...SIGNED, 'Expect: 100-continue', 'Content-Encoding: gzip');
  const answer = await connection.send(`${head}\r\n`).response();
  expect([answer.status, answer.headers.connection]).toEqual([415, 'close']);
  // The connection lingers: closed at once, it would be reset under a sender that did not wait.
  await eventually(() => clock.waiting).toBe(1);
  connection.send(BODY);
  await connection.closed();
  expect(await stored()).toEqual({ receipts: 0, events: 0 });
});

test('Expect: 100-continue is continued where the body is wanted', async () => {
  const { url } = await startIngress();
  const connection = await RawConnection.open(url);
  const head = rawHead(...SIGNED, 'Expect: 100-continue');
  expect((await connection.send(`${head}\r\n`).response()).status).toBe(100);
  expect((await connection.send(BODY).response()).status).toBe(202);
  // Such a connection goes on like any other.
  expect((await connection.send(GOOD).response()).status).toBe(200);
  connection.destroy();
});

test('an expectation nobody knows is not in the way', async () => {
  const { url } = await startIngress();
  const connection = await RawConnection.open(url);
  const answer = await connection.send(`${rawHead(...SIGNED, 'Expect: wonders')}\r\n${BODY}`).response();
  expect(answer.status).toBe(202);
  connection.destroy();
});

test('a refusal of a signature leaves the connection as it was', async () => {
  const { url } = await startIngress();
  const connection = await RawConnection.open(url);
  const unsigned = `${rawHead(`Content-Length: ${BODY.length}`)}\r\n${BODY}`;
  expect((await connection.send(unsigned).response()).status).toBe(401);
  expect((await connection.send(GOOD).response()).status).toBe(202);
  connection.destroy();
});
