import { createHmac } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { HandshakeAllowance } from '../../src/ingress/handshake-allowance.js';
import { eventually, SECRET, startIngress } from './ingress-fixture.js';
import { RawConnection } from './raw-connection.js';

const PATH = '/in/acme/code/slack';

function slack(url: string, message: object): Promise<Response> {
  const body = JSON.stringify(message);
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const signature = createHmac('sha256', SECRET).update(`v0:${timestamp}:${body}`).digest('hex');
  const headers = { 'x-slack-signature': `v0=${signature}`, 'x-slack-request-timestamp': timestamp };
  return fetch(url + PATH, {
    method: 'POST',
    body,
    headers: { ...headers, 'x-github-delivery': 'd', connection: 'close' },
  });
}

/** Unsigned requests of the route, each with a body that does not end. */
async function slowBodies(url: string, count: number, announcedBytes: number): Promise<void> {
  const connections = await Promise.all(Array.from({ length: count }, () => RawConnection.open(url)));
  const head = `POST ${PATH} HTTP/1.1\r\nHost: test\r\nContent-Length: ${announcedBytes}\r\n\r\nx`;
  for (const connection of connections) connection.send(head);
  onTestFinished(() => {
    for (const connection of connections) connection.destroy();
  });
}

test('[ADM-2, PRS-1] a signed handshake by POST is answered while slow bodies hold all room for unverified work', async () => {
  const fixture = await startIngress({ unverified: { requests: 8, bytes: 1_000_000 } });
  const { url, ingress } = fixture;
  await slowBodies(url, 6, 5_000);
  await eventually(() => ingress.load.unverified.requests).toBe(6);
  const challenge = { type: 'url_verification', challenge: 'c' };
  const answer = await slack(url, challenge);
  expect([answer.status, await answer.text()]).toEqual([200, 'c']);
  // What is too large for one is refused as before, unread.
  const large = await slack(url, { ...challenge, fill: 'x'.repeat(512) });
  expect([large.status, large.headers.get('retry-after')]).toEqual([503, expect.stringMatching(/^[1-3]$/)]);
  expect(ingress.load.unverified.requests).toBe(6);
});

test('[PRS-1] bodies that are held on the allowance take nothing from what other routes may have read', async () => {
  const { url, ingress } = await startIngress({ unverified: { requests: 8, bytes: 1_000_000 } });
  await slowBodies(url, 6, 5_000);
  await eventually(() => ingress.load.unverified.requests).toBe(6);
  await slowBodies(url, 8, 100);
  await eventually(() => ingress.load.unverified.requests).toBe(14);
  const other = await fetch(`${url}/in/acme/code/push`, { method: 'POST', body: '{}' });
  expect(other.status).toBe(401);
});

const takes = (allowance: HandshakeAllowance, nowMs: number, address: string, times: number): number =>
  Array.from({ length: times }, () => allowance.take(nowMs, address)).filter(Boolean).length;

test('[ADM-2] one address that sends without end does not use up the allowance of the others', () => {
  const allowance = new HandshakeAllowance();
  for (let second = 0; second < 60; second++) {
    const nowMs = 1_000 * second;
    expect(takes(allowance, nowMs, '192.0.2.1', 50)).toBe(10);
    // Another comes every twenty seconds, and again at once.
    if (second % 20 === 19) expect(takes(allowance, nowMs, '192.0.2.2', 2)).toBe(1);
  }
});

test('the addresses of one IPv6 network count as one, and so many networks get no more than the two buckets hold', () => {
  const allowance = new HandshakeAllowance();
  expect(takes(allowance, 0, '2001:db8::1', 50)).toBe(10);
  expect(takes(allowance, 0, '2001:db8:0:0:7::2', 1)).toBe(0);
  expect(takes(allowance, 0, '2001:db8:0:1::2', 1)).toBe(1);
  expect(takes(allowance, 0, '::1', 1)).toBe(1);
  expect(takes(allowance, 0, '::ffff:192.0.2.1', 1)).toBe(1);
  expect(takes(allowance, 0, '::ffff:192.0.2.2', 1)).toBe(1);
  const many = Array.from({ length: 200 }, (_, place) => takes(allowance, 0, `198.51.100.${place}`, 1));
  expect(many.filter((taken) => taken === 1)).toHaveLength(6);
});
