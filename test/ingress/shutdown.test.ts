import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { createIngress } from '../../src/ingress/server.js';
import { CommitGate } from './commit-gate.js';
import { deliver, eventually, ingressOptions, PUSH, rawHead, sign, startIngress } from './ingress-fixture.js';
import { ManualClock } from './manual-clock.js';
import { RawConnection } from './raw-connection.js';

const BODY = Buffer.from(PUSH, 'utf8').toString('latin1');

function portIsOpen(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(url).port) });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

test('while draining, /readyz is not ready and a new request is 503 draining on a closing connection', async () => {
  const { url, ingress, stored, decisions } = await startIngress();
  ingress.beginDrain();
  ingress.beginDrain();
  const ready = await fetch(`${url}/readyz`);
  expect([ready.status, await ready.json()]).toEqual([503, { ready: false, checks: { store: 'ok' } }]);
  const response = await deliver(url);
  expect([response.status, response.headers.get('connection')]).toEqual([503, 'close']);
  expect(Number(response.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  expect(await response.json()).toMatchObject({ code: 'draining', reason: 'draining' });
  expect((await deliver(url, { path: '/unknown' })).status).toBe(503);
  expect(await stored()).toEqual({ receipts: 0, events: 0 });
  expect(decisions).toEqual(['draining', 'draining']);
});

test('[ADM-1] close waits for the answers in flight, then the port is closed', async () => {
  const gate = new CommitGate();
  const { url, ingress, stored } = await startIngress({ materialize: gate.wrap });
  const delivery = deliver(url);
  await gate.untilAsked(1);
  let closed = false;
  const closing = ingress.close({ timeoutMs: 60_000 }).then(() => {
    closed = true;
  });
  // A request that goes all the way shows that closing has begun and waits.
  expect((await deliver(url, { key: 'd-2' })).status).toBe(503);
  expect(closed).toBe(false);
  gate.open();
  const response = await delivery;
  expect([response.status, response.headers.get('connection')]).toEqual([202, 'close']);
  await closing;
  expect(await portIsOpen(url)).toBe(false);
  expect(await stored()).toEqual({ receipts: 1, events: 1 });
});

test('close waits for a body that is still coming', async () => {
  const { url, ingress } = await startIngress();
  const connection = await RawConnection.open(url);
  const lines = [
    `X-Hub-Signature-256: ${sign(PUSH)}`,
    'X-GitHub-Delivery: d-1',
    `Content-Length: ${BODY.length}`,
  ];
  connection.send(`${rawHead(...lines, 'Expect: 100-continue')}\r\n`);
  await connection.response();
  const closing = ingress.close({ timeoutMs: 60_000 });
  expect((await connection.send(BODY).response()).status).toBe(202);
  await closing;
});

test('close gives up on what is in flight after its timeout', async () => {
  const clock = new ManualClock();
  const gate = new CommitGate();
  const { url, ingress } = await startIngress({
    clock,
    materialize: gate.wrap,
    groupCommit: { deadlineMs: 60_000 },
  });
  const delivery = deliver(url).catch((error: unknown) => error);
  await gate.untilAsked(1);
  const closing = ingress.close({ timeoutMs: 3_000 });
  expect((await deliver(url)).status).toBe(503);
  clock.advance(3_000);
  // Its connection is not idle: it gets the short grace of every connection, and is cut.
  await eventually(() => portIsOpen(url)).toBe(false);
  clock.advance(500);
  await closing;
  expect(await delivery).toBeInstanceOf(Error);
  gate.open();
});

test('close does not wait for connections that owe nothing: idle ones, and one that never spoke', async () => {
  const clock = new ManualClock();
  const { url, ingress } = await startIngress({ clock });
  const idle = await RawConnection.open(url);
  await idle.send('GET /livez HTTP/1.1\r\nHost: test\r\n\r\n').response();
  const silent = await RawConnection.open(url);
  const closing = ingress.close({ timeoutMs: 60_000 });
  await idle.closed();
  await eventually(() => clock.waiting).toBe(1);
  clock.advance(500);
  await silent.closed();
  await closing;
});

test('closing twice is closing once', async () => {
  const { url, ingress } = await startIngress();
  const first = ingress.close({ timeoutMs: 1_000 });
  expect(ingress.close({ timeoutMs: 0 })).toBe(first);
  await first;
  await ingress.close({ timeoutMs: 1_000 });
  expect(await portIsOpen(url)).toBe(false);
});

test('closing before, and while, the port is opened leaves none open', async () => {
  const unopened = createIngress(ingressOptions());
  await unopened.close({ timeoutMs: 1_000 });
  await expect(unopened.listen({ host: '127.0.0.1', port: 0 })).rejects.toMatchObject({
    code: 'invalid_argument',
  });

  const opening = createIngress(ingressOptions());
  const listening = opening.listen({ host: '127.0.0.1', port: 0 });
  await opening.close({ timeoutMs: 1_000 });
  expect(await portIsOpen((await listening).url)).toBe(false);
});

test('a port that is taken is an error, and closing after it is safe', async () => {
  const { url } = await startIngress();
  const second = createIngress(ingressOptions());
  await expect(second.listen({ host: '127.0.0.1', port: Number(new URL(url).port) })).rejects.toMatchObject({
    code: 'EADDRINUSE',
  });
  await second.close({ timeoutMs: 1_000 });
});
