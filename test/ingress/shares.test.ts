import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { FairBound, type Place } from '../../src/ingress/fair-bound.js';
import { ReturnLine } from '../../src/ingress/return-line.js';
import { definePack } from '../../src/packs/define-pack.js';
import { signatures } from '../../src/packs/signatures.js';
import { turns } from '../support/manual-clock.js';
import { pushRoute, SECRET } from '../support/push-route.js';
import { type Sent, VirtualLoad } from './virtual-load.js';

const pack = definePack({
  name: 'code',
  version: '1.0.0',
  routes: {
    push: pushRoute,
    meta: { ...pushRoute, verify: signatures.meta({ secret: SECRET, verifyToken: 'a token' }) },
    slack: { ...pushRoute, verify: signatures.slack({ secret: SECRET }) },
    graph: { ...pushRoute, verify: signatures.microsoftGraph({ clientState: SECRET }) },
  },
});

/** A namespace whose share of the requests in flight is used up: the store never answers. */
async function full(): Promise<VirtualLoad> {
  const load = new VirtualLoad(() => 2_000, { pack, inFlight: { requests: 2, bytes: 100_000 } });
  void load.send('/in/acme/code/push', 'a');
  void load.send('/in/acme/code/push', 'b');
  await turns();
  return load;
}

function slack(load: VirtualLoad, message: object): Promise<Sent> {
  const body = JSON.stringify(message);
  const timestamp = String(Math.floor(load.clock.now() / 1_000));
  const signature = createHmac('sha256', SECRET).update(`v0:${timestamp}:${body}`).digest('hex');
  const headers = {
    'content-length': String(Buffer.byteLength(body)),
    'x-slack-signature': `v0=${signature}`,
    'x-slack-request-timestamp': timestamp,
  };
  return load.send('/in/acme/code/slack', 'unused', { body, headers });
}

const CHALLENGE = { type: 'url_verification', challenge: 'c' };

test('[ADM-2] under overload handshakes are answered: by GET, by POST with an empty body, and by a small POST', async () => {
  const load = await full();
  expect((await load.send('/in/acme/code/push', 'c')).code).toBe('overloaded');
  const subscribe = '/in/acme/code/meta?hub.mode=subscribe&hub.verify_token=a%20token&hub.challenge=x';
  expect((await load.send(subscribe, '', { method: 'GET', body: null })).status).toBe(200);
  expect((await load.send('/in/acme/code/graph?validationToken=x', '', { body: null })).status).toBe(200);
  expect((await slack(load, CHALLENGE)).status).toBe(200);
});

test('[ADM-2] a verified delivery that came in on the allowance for handshakes is refused, and nothing of it is stored', async () => {
  const load = await full();
  expect(await slack(load, { repository: 'r' })).toMatchObject({ status: 503, code: 'overloaded' });
  await load.clock.advance(5_000);
  expect(load.stored).toEqual(['a', 'b']);
});

test('[ADM-2] the allowance is small: ten bodies of a route, then ten each second, and none that is large', async () => {
  const load = await full();
  const statuses = await Promise.all(Array.from({ length: 15 }, () => slack(load, CHALLENGE)));
  expect(statuses.filter(({ status }) => status === 200)).toHaveLength(10);
  await load.clock.advance(1_000);
  expect((await slack(load, { ...CHALLENGE, fill: 'x'.repeat(512) })).status).toBe(503);
  expect((await slack(load, CHALLENGE)).status).toBe(200);
});

test('[PRS-1] unsigned requests of one URL use up its share of unverified work and nobody else’s', async () => {
  const load = new VirtualLoad(() => 10, { pack, unverified: { requests: 40, bytes: 1_000_000 } });
  // Bodies that never end: each holds a place until its time is over.
  const hanging = Array.from({ length: 60 }, (_, place) =>
    load.send('/in/acme/code/push', `h-${place}`, {
      body: new ReadableStream({ start: (controller) => controller.enqueue(Buffer.from('x')) }),
      duplex: 'half',
    } as RequestInit),
  );
  const refused: Sent[] = [];
  for (const one of hanging) void one.then((sent) => refused.push(sent));
  await turns();
  expect(refused).toHaveLength(30);
  expect(load.counts.shed).toEqual({ unverified: 30 });
  const others = ['/in/globex/code/push', '/in/acme/code/slack'].map((path) =>
    load.send(path, 'd', path.endsWith('slack') ? { headers: { 'x-slack-signature': 'none' } } : {}),
  );
  await load.clock.advance(100);
  expect((await Promise.all(others)).map(({ status }) => status)).toEqual([202, 401]);
});

test('[PRS-1] what was refused without a signature hardly moves the line of those who come back', async () => {
  const load = new VirtualLoad(() => 80, { pack, inFlight: { requests: 2, bytes: 100_000 } });
  for (let number = 0; number < 200; number++)
    await load.send('/in/acme/code/push', 'x', { headers: { 'x-hub-signature-256': 'none' } });
  void load.send('/in/acme/code/push', 'a');
  void load.send('/in/acme/code/push', 'b');
  await turns();
  for (let number = 0; number < 2_000; number++) await load.send('/in/acme/code/push', 'x');
  expect((await load.send('/in/acme/code/push', 'c')).retryAfterSeconds).toBeLessThanOrEqual(2);
});

const enter = (bound: FairBound, tenant: string, bytes = 0): Place => {
  const place = bound.enter(tenant, bytes);
  if (typeof place === 'string') throw new Error(place);
  return place;
};

test('[PRS-1] a bound is shared out max-min: one alone gets three quarters, each of two a third at least, and newcomers always find room', () => {
  const bound = new FairBound({ requests: 100, bytes: 1 });
  const flood: Place[] = [];
  while (bound.exceeded('a', 0) === null) flood.push(enter(bound, 'a'));
  expect(flood).toHaveLength(75);
  let others = 0;
  for (; bound.exceeded('b', 0) === null; others++) enter(bound, 'b');
  expect(others).toBe(25);
  // As the first one's work ends, what is free goes to the other, until the first has no more than its share.
  while (flood.length > 0 && bound.exceeded('a', 0) !== null) {
    flood.pop()!.release();
    for (; bound.exceeded('b', 0) === null && others < 60; others++) enter(bound, 'b');
  }
  expect(Math.min(flood.length, others)).toBeGreaterThanOrEqual(32);
  expect(bound.exceeded('c', 0)).toBeNull();
});

test('[PRS-1] the only request of a tenant may have all that is left, and gives all of it back', () => {
  const bound = new FairBound({ requests: 10, bytes: 1_000 });
  const large = enter(bound, 'a', 1_000);
  expect(large.grow(1_000)).toBe(true);
  expect(bound.enter('b', 1)).toBe('bytes');
  large.release();
  large.release();
  expect(bound.held).toEqual({ requests: 0, bytes: 0 });
  expect(large.grow(1)).toBe(false);
});

test('[ADM-2] Retry-After is behind what waits and what was refused, jittered, and 1 to 120', () => {
  const random = (float: number) => ({ float: () => float, bytes: () => new Uint8Array() });
  const line = new ReturnLine();
  // 100 a second, 1,000 wait: ten seconds, and a little for its own turn.
  expect(line.next(0, 1_000, 0.1, 1, random(0.5))).toBe(11);
  expect(line.next(0, 1_000, 0.1, 1, random(0))).toBe(8);
  expect(line.next(0, 1_000, 0.1, 1, random(0.999))).toBe(13);
  // 800 more are refused: at four fifths of the rate that is ten seconds more.
  for (let number = 0; number < 800; number++) line.next(0, 1_000, 0.1, 1, random(0.5));
  expect(line.next(0, 1_000, 0.1, 1, random(0.5))).toBe(21);
  // Time has passed, so has the line.
  expect(line.next(19_000, 0, 0.1, 1, random(0.5))).toBeLessThanOrEqual(2);
  for (let number = 0; number < 100_000; number++) line.next(0, 0, 0.1, 1, random(0.5));
  expect([0, 0.5, 0.9999].map((draw) => line.next(0, 0, 0.1, 1, random(draw)))).toEqual([72, 96, 120]);
  expect(new ReturnLine().next(0, 0, 10, 1, random(0.5))).toBe(1);
});
