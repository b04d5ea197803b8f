import { expect, test } from 'vitest';
import { LaneheadError } from '../../src/core/errors.js';
import { definePack } from '../../src/packs/define-pack.js';
import type { Receipt } from '../../src/packs/types.js';
import { StoreOutage } from '../../src/store/driver.js';
import type { MaterializeRequest } from '../../src/store/store.js';
import { CommitGate, groupSizes } from './commit-gate.js';
import {
  deliver,
  eventually,
  type Fixture,
  type FixtureOptions,
  pushRoute,
  startIngress,
} from './ingress-fixture.js';
import { ManualClock } from './manual-clock.js';

/** One commit in flight, held by the gate, and `count` deliveries behind it that wait for the next. */
async function gathered(count: number, options: FixtureOptions = {}) {
  const gate = new CommitGate();
  const clock = new ManualClock();
  const fixture = await startIngress({ materialize: gate.wrap, clock, ...options });
  const first = deliver(fixture.url, { key: 'first' });
  await gate.untilAsked(1);
  const waiting = Array.from({ length: count }, (_, place) => deliver(fixture.url, { key: `d-${place}` }));
  // Each receipt at the store's door has its deadline running.
  await eventually(() => clock.waiting).toBe(count + 1);
  return { gate, clock, first, waiting, ...fixture };
}

const statuses = async (responses: readonly Promise<Response>[]): Promise<number[]> =>
  (await Promise.all(responses)).map((response) => response.status);

test('[ADM-1] receipts that arrive during a commit share the next one, each with its own answer', async () => {
  const { gate, first, waiting, stored } = await gathered(20);
  gate.open();
  expect((await first).status).toBe(202);
  const answers = await Promise.all(waiting.map(async (response) => (await response).json()));
  expect(new Set(answers.map((answer) => (answer as { receipt: string }).receipt)).size).toBe(20);
  expect(groupSizes(gate)).toEqual([1, 20]);
  expect(await stored()).toEqual({ receipts: 21, events: 21 });
});

test('FIELD: concurrent identical deliveries are one Event, and all are acknowledged', async () => {
  const gate = new CommitGate();
  const clock = new ManualClock();
  const { url, stored } = await startIngress({ materialize: gate.wrap, clock });
  const first = deliver(url);
  await gate.untilAsked(1);
  const same = Array.from({ length: 15 }, () => deliver(url));
  await eventually(() => clock.waiting).toBe(16);
  gate.open();
  const answers = await Promise.all([first, ...same].map(async (response) => (await response).json()));
  const receipts = new Set(answers.map((answer) => (answer as { receipt: string }).receipt));
  expect(receipts.size).toBe(1);
  expect(answers.filter((answer) => !(answer as { duplicate: boolean }).duplicate)).toHaveLength(1);
  expect(await stored()).toEqual({ receipts: 1, events: 1 });
  expect(groupSizes(gate)).toEqual([1, 15]);
});

test('a group is bounded by count', async () => {
  const { gate, first, waiting } = await gathered(5, { groupCommit: { maxReceipts: 2 } });
  gate.open();
  expect(await statuses([first, ...waiting])).toEqual(Array.from({ length: 6 }, () => 202));
  expect(groupSizes(gate)).toEqual([1, 2, 2, 1]);
});

test('a group is bounded by bytes, and a receipt over the bound is committed alone', async () => {
  const { gate, first, waiting, url, clock } = await gathered(2, { groupCommit: { maxBytes: 6_000 } });
  const large = deliver(url, {
    key: 'large',
    body: JSON.stringify({ repository: 'r', fill: 'x'.repeat(7_000) }),
  });
  await eventually(() => clock.waiting).toBe(4);
  gate.open();
  expect(await statuses([first, ...waiting, large])).toEqual([202, 202, 202, 202]);
  expect(groupSizes(gate)).toEqual([1, 2, 1]);
});

test('the commits of two packs do not wait for each other', async () => {
  const { gate, first, url } = await gathered(0);
  const other = deliver(url, { path: '/in/globex/code/push' });
  await gate.untilAsked(2);
  expect(gate.asked.map(({ namespace }) => namespace)).toEqual(['acme', 'globex']);
  gate.open();
  expect(await statuses([first, other])).toEqual([202, 202]);
});

test('with a gather delay the first receipt waits for company, until the delay or the group is full', async () => {
  const gate = new CommitGate();
  const clock = new ManualClock();
  gate.open();
  const groupCommit = { gatherMs: 5, maxReceipts: 3 };
  const { url } = await startIngress({ materialize: gate.wrap, clock, groupCommit });
  const two = [deliver(url, { key: 'a' }), deliver(url, { key: 'b' })];
  // Two deadlines and the delay.
  await eventually(() => clock.waiting).toBe(3);
  expect(gate.asked).toHaveLength(0);
  clock.advance(5);
  expect(await statuses(two)).toEqual([202, 202]);
  expect(await statuses(['c', 'd', 'e'].map((key) => deliver(url, { key })))).toEqual([202, 202, 202]);
  expect(groupSizes(gate)).toEqual([2, 3]);
});

/** A receipt that the engine refuses, whatever else is in its transaction. */
function refusing(poison: string): NonNullable<FixtureOptions['materialize']> {
  return (real) => async (request) => {
    if (carries(request, poison)) throw new RangeError('a value is out of range');
    return real(request);
  };
}

function carries(request: MaterializeRequest, deliveryKey: string): boolean {
  return request.receipts.some(({ events }) => events.some((event) => event.deliveryKey === deliveryKey));
}

test('[ADM-1] one receipt that cannot be stored fails alone; the others of its group are stored and acknowledged', async () => {
  const gate = new CommitGate();
  const poisoned = refusing('d-3');
  const { first, waiting, stored, decisions } = await gatheredBy(gate, 6, (real) =>
    gate.wrap(poisoned(real)),
  );
  gate.open();
  expect(await statuses([first, ...waiting])).toEqual([202, 202, 202, 202, 503, 202, 202]);
  expect(groupSizes(gate)).toEqual([1, 6, 1, 1, 1, 1, 1, 1]);
  expect(await stored()).toEqual({ receipts: 6, events: 6 });
  expect(decisions.filter((decision) => decision === 'internal')).toHaveLength(1);
});

/** A receipt with which the server drops the connection, whatever else is in its transaction. */
function dropping(...poison: readonly string[]): NonNullable<FixtureOptions['materialize']> {
  return (real) => async (request) => {
    if (poison.some((key) => carries(request, key))) throw new StoreOutage('connection lost', 'none');
    return real(request);
  };
}

test('[MAT-5, ADM-3] one receipt that costs the store its connection fails alone', async () => {
  const gate = new CommitGate();
  const poisoned = dropping('d-0', 'd-2');
  const { first, waiting, stored, decisions } = await gatheredBy(gate, 5, (real) =>
    gate.wrap(poisoned(real)),
  );
  gate.open();
  expect(await statuses([first, ...waiting])).toEqual([202, 503, 202, 503, 202, 202]);
  expect(groupSizes(gate)).toEqual([1, 5, 1, 1, 1, 1, 1]);
  expect(await stored()).toEqual({ receipts: 4, events: 4 });
  expect(decisions.filter((decision) => decision === 'store_unavailable')).toHaveLength(2);
});

test('[MAT-5, ADM-3] a row that the database takes from nobody is 413, and its neighbours are stored', async () => {
  const gate = new CommitGate();
  const { first, waiting, stored, decisions } = await gatheredBy(gate, 3, (real) =>
    gate.wrap(async (request) => {
      if (carries(request, 'd-1')) throw new LaneheadError('payload_too_large', 'longer than a packet');
      return real(request);
    }),
  );
  gate.open();
  expect(await statuses([first, ...waiting])).toEqual([202, 202, 413, 202]);
  expect(await stored()).toEqual({ receipts: 3, events: 3 });
  expect(decisions.filter((decision) => decision === 'payload_too_large')).toHaveLength(1);
});

test('[ADM-3] two outages in a row are the store itself: the rest of a group is not tried alone', async () => {
  const { gate, first, waiting } = await gathered(4);
  gate.letThrough();
  expect((await first).status).toBe(202);
  for (const asked of [2, 3, 4]) {
    await gate.untilAsked(asked);
    gate.fail(new StoreOutage('connection lost', 'none'));
  }
  expect(await statuses(waiting)).toEqual([503, 503, 503, 503]);
  expect(groupSizes(gate)).toEqual([1, 4, 1, 1]);
});

test('[ADM-3] companions, headers and the copies of a body count towards the bytes of a group', async () => {
  const events = (count: number, companion?: string) =>
    Array.from({ length: count }, (_, place) => ({ type: 't', sourceKey: `s-${place}`, companion }));
  const route = (materialize: () => ReturnType<typeof events>) => ({
    ...pushRoute,
    materialize: (receipt: Receipt) => ({
      deliveries: [{ key: receipt.header('x-github-delivery')!, events: materialize() }],
    }),
  });
  const pack = definePack({
    name: 'code',
    version: '1.0.0',
    routes: {
      push: pushRoute,
      companions: route(() => events(1, 'c'.repeat(6_000))),
      copies: route(() => events(40)),
    },
  });
  const body = JSON.stringify({ repository: 'r', fill: 'x'.repeat(1_000) });
  const kinds = { companions: {}, copies: { body }, push: { headers: { 'x-large': 'h'.repeat(6_000) } } };
  for (const [route, delivery] of Object.entries(kinds)) {
    const { gate, first, url, clock } = await gathered(0, { pack, groupCommit: { maxBytes: 12_000 } });
    const large = ['a', 'b', 'c'].map((key) =>
      deliver(url, { ...delivery, key, path: `/in/acme/code/${route}` }),
    );
    await eventually(() => clock.waiting).toBe(4);
    gate.open();
    expect(await statuses([first, ...large])).toEqual([202, 202, 202, 202]);
    expect([route, groupSizes(gate)]).toEqual([route, [1, 1, 1, 1]]);
  }
});

test('every durable commit wakes the scheduler of its pack once, a failed one does not', async () => {
  const woken: number[] = [];
  let failing = false;
  const { url, installed } = await startIngress({
    onCommitted: ({ packId }) => void woken.push(packId),
    materialize: (real) => (request) => (failing ? Promise.reject(new Error('no')) : real(request)),
  });
  await deliver(url);
  await deliver(url, { path: '/in/globex/code/push' });
  failing = true;
  await deliver(url, { key: 'd-2' });
  expect(woken).toEqual(installed.map(({ packId }) => packId));
});

async function gatheredBy(
  gate: CommitGate,
  count: number,
  materialize: NonNullable<FixtureOptions['materialize']>,
) {
  const clock = new ManualClock();
  const fixture: Fixture = await startIngress({ materialize, clock });
  const first = deliver(fixture.url, { key: 'first' });
  await gate.untilAsked(1);
  const waiting: Promise<Response>[] = [];
  for (let place = 0; place < count; place++) {
    waiting.push(deliver(fixture.url, { key: `d-${place}` }));
    await eventually(() => clock.waiting).toBe(place + 2);
  }
  return { first, waiting, ...fixture };
}
