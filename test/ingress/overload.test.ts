import { expect, test } from 'vitest';
import { DecisionCounts } from '../support/decision-counts.js';
import { CommitGate } from './commit-gate.js';
import { deliver, eventually, PUSH, rawHead, sign, startIngress } from './ingress-fixture.js';
import { ManualClock } from './manual-clock.js';
import { RawConnection, type RawResponse } from './raw-connection.js';

const BODY = Buffer.from(PUSH, 'utf8').toString('latin1');
const LARGE = 1_000_000;

function expectOverloaded(answer: RawResponse): void {
  expect(answer.status).toBe(503);
  expect(answer.headers['retry-after']).toMatch(/^([1-9]|[1-9]\d|1[01]\d|120)$/);
  expect(JSON.parse(answer.body)).toMatchObject({ code: 'overloaded', reason: 'overloaded', status: 503 });
}

/** A signed delivery's head: its answer, if one comes, is made without its body. */
function headOnly(...more: readonly string[]): string {
  return `${rawHead(`X-Hub-Signature-256: ${sign(PUSH)}`, 'X-GitHub-Delivery: d-2', ...more)}\r\n`;
}

test('[ADM-2] over the bound of requests the answer is 503 before the body is read or anything is stored', async () => {
  const gate = new CommitGate();
  const clock = new ManualClock();
  const inFlight = { requests: 2, bytes: LARGE };
  const { url, stored, decisions } = await startIngress({ inFlight, materialize: gate.wrap, clock });
  const first = deliver(url, { key: 'd-0' });
  const second = deliver(url, { key: 'd-1' });
  // Both have come as far as the store: each has its deadline running.
  await eventually(() => clock.waiting).toBe(2);
  const connection = await RawConnection.open(url);
  expectOverloaded(await connection.send(headOnly(`Content-Length: ${BODY.length}`)).response());
  expect(gate.asked).toHaveLength(1);
  gate.open();
  expect([(await first).status, (await second).status]).toEqual([202, 202]);
  // The refused body is still owed by this connection; then it is as good as any.
  expect(
    (await connection.send(BODY + headOnly(`Content-Length: ${BODY.length}`) + BODY).response()).status,
  ).toBe(202);
  connection.destroy();
  expect(await stored()).toEqual({ receipts: 3, events: 3 });
  expect(decisions.filter((decision) => decision === 'overloaded')).toHaveLength(1);
});

test('[ADM-2] over the bound of bytes the answer is 503 by the announced length', async () => {
  const gate = new CommitGate();
  const inFlight = { requests: 100, bytes: 2 * BODY.length - 1 };
  const { url } = await startIngress({ inFlight, materialize: gate.wrap });
  const first = deliver(url);
  await gate.untilAsked(1);
  const connection = await RawConnection.open(url);
  expectOverloaded(await connection.send(headOnly(`Content-Length: ${BODY.length}`)).response());
  gate.open();
  await first;
  const next = await RawConnection.open(url);
  expect((await next.send(headOnly(`Content-Length: ${BODY.length}`) + BODY).response()).status).toBe(202);
  connection.destroy();
  next.destroy();
});

test('[ADM-2] a chunked body counts as it comes, and is refused when the bytes are used up', async () => {
  const { url, stored } = await startIngress({ unverified: { requests: 100, bytes: 1_000 } });
  const connection = await RawConnection.open(url);
  const chunk = `1f4\r\n${'x'.repeat(500)}\r\n`;
  expectOverloaded(
    await connection.send(headOnly('Transfer-Encoding: chunked') + chunk.repeat(3)).response(),
  );
  connection.socket.end();
  await connection.closed();
  expect(await stored()).toEqual({ receipts: 0, events: 0 });
  // All of it was given back.
  expect(
    (await deliver(url, { body: JSON.stringify({ repository: 'r', fill: 'x'.repeat(900) }) })).status,
  ).toBe(202);
});

test('[ADM-2] lengths that are announced and not sent keep nobody out', async () => {
  const counts = new DecisionCounts();
  const { url } = await startIngress({
    unverified: { requests: 100, bytes: 4 * BODY.length },
    onDecision: counts.observe,
  });
  const silent = await Promise.all([1, 2, 3].map(() => RawConnection.open(url)));
  for (const connection of silent) {
    const head = headOnly(`Content-Length: ${2 * BODY.length}`, 'Expect: 100-continue');
    expect((await connection.send(head).response()).status).toBe(100);
  }
  expect((await deliver(url)).status).toBe(202);
  // Bytes that were sent are held, whoever sent them.
  for (const connection of silent) connection.send('x'.repeat(BODY.length));
  await expect.poll(async () => (await deliver(url)).status, { timeout: 20_000 }).toBe(503);
  expect(counts.shed.unverified).toBeGreaterThan(0);
  for (const connection of silent) connection.destroy();
});

test('[ADM-2] a request refused for overload is not told to go on with its body', async () => {
  const { url } = await startIngress({ inFlight: { requests: 1, bytes: BODY.length - 1 } });
  const connection = await RawConnection.open(url);
  const answer = await connection
    .send(headOnly(`Content-Length: ${BODY.length}`, 'Expect: 100-continue'))
    .response();
  expectOverloaded(answer);
  connection.destroy();
});
