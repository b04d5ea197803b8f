import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { BodyBuffer } from '../../src/ingress/body-buffer.js';
import { rawHead, sign, startIngress } from './ingress-fixture.js';
import { ManualClock } from './manual-clock.js';
import { RawConnection } from './raw-connection.js';

const ONE_BYTE = '1\r\na\r\n';
const CHUNKED = 'Transfer-Encoding: chunked';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function usedBytes(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** What a body of so many pieces holds before it is joined. */
function heldBytes(pieces: number, pieceBytes: number): number {
  const before = usedBytes();
  const body = new BodyBuffer();
  for (let place = 0; place < pieces; place++) body.append(Buffer.alloc(pieceBytes, 97));
  const held = usedBytes() - before;
  expect(body.bytes).toBe(pieces * pieceBytes);
  return held;
}

test('[ADM-2] the bytes that are counted for a body are about those it holds, however small its pieces are', () => {
  // As one object for each piece it is more than a hundred bytes for one.
  expect(heldBytes(400_000, 1)).toBeLessThan(8_000_000);
  expect(heldBytes(40_000, 64)).toBeLessThan(8_000_000);
});

test('a small piece between large ones does not cost a block of its own', () => {
  const before = usedBytes();
  const body = new BodyBuffer();
  for (let place = 0; place < 1_000; place++) body.append(Buffer.alloc(place % 2 === 0 ? 1_024 : 1));
  expect(usedBytes() - before).toBeLessThan(4_000_000);
  expect(body.bytes).toBe(512_500);
});

test('a body is what came, in order, in whatever pieces', () => {
  const whole = Buffer.from(Array.from({ length: 300_000 }, (_, place) => (place * 7 + (place >> 8)) & 255));
  for (const sizes of [[1], [255, 256, 257], [1, 1_024, 3], [1_023, 1_025, 70_000], [200_000, 5], [64]]) {
    const body = new BodyBuffer();
    for (let start = 0, turn = 0; start < whole.length; turn++) {
      const end = Math.min(whole.length, start + sizes[turn % sizes.length]!);
      body.append(Buffer.from(whole.subarray(start, end)));
      start = end;
    }
    expect(body.join().equals(whole)).toBe(true);
  }
  expect(new BodyBuffer().join()).toHaveLength(0);
});

test('a body in one piece is not copied', () => {
  const piece = Buffer.from('whole');
  const body = new BodyBuffer();
  body.append(piece);
  expect(body.join()).toBe(piece);
});

test('[ADM-2] a body in more pieces than its size can explain is refused before its end, and nothing of it is kept', async () => {
  const { url, stored, decisions, ingress } = await startIngress();
  const connection = await RawConnection.open(url);
  const answer = await connection.send(`${rawHead(CHUNKED)}\r\n${ONE_BYTE.repeat(4_200)}`).response();
  expect([answer.status, answer.headers.connection]).toEqual([400, 'close']);
  expect(JSON.parse(answer.body)).toMatchObject({ code: 'body_fragmented' });
  connection.socket.end();
  await connection.closed();
  expect(decisions).toEqual(['body_fragmented']);
  expect(ingress.load.unverified).toEqual({ requests: 0, bytes: 0 });
  expect(await stored()).toEqual({ receipts: 0, events: 0 });
});

test.each([
  ['four thousand pieces of one byte', 4_000, 1],
  ['any number of 64 bytes', 9_000, 64],
])('a body in %s is stored', async (_name, count, bytes) => {
  const { url } = await startIngress();
  const body = JSON.stringify({ repository: 'acme/site' }).padEnd(count * bytes);
  const chunks = Array.from({ length: count }, (_, place) => body.slice(place * bytes, (place + 1) * bytes));
  const text = chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('');
  const head = rawHead(CHUNKED, `X-Hub-Signature-256: ${sign(body)}`, 'X-GitHub-Delivery: d').replace(
    '/push',
    '/acked',
  );
  const connection = await RawConnection.open(url);
  expect((await connection.send(`${head}\r\n${text}0\r\n\r\n`).response()).status).toBe(201);
  connection.destroy();
});

test('small pieces behind a refusal are dropped by their number, not by their bytes', async () => {
  // The clock stands still: only the number can end it.
  const { url } = await startIngress({ clock: new ManualClock() });
  const connection = await RawConnection.open(url);
  await connection.send(`${rawHead(CHUNKED, 'Content-Encoding: gzip')}\r\n`).response();
  connection.send(ONE_BYTE.repeat(4_200));
  await connection.closed();
});
