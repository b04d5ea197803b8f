import { expect, onTestFinished, test } from 'vitest';
import { systemRandom } from '../../src/core/system.js';
import { routesOf } from '../../src/ingress/route-table.js';
import { definePack } from '../../src/packs/define-pack.js';
import { signatures } from '../../src/packs/signatures.js';
import { openSqliteStore } from '../../src/store/dialects/sqlite/open.js';
import type { InstalledPack, Store } from '../../src/store/store.js';
import { claimRequest } from '../conformance/fixture.js';
import { ManualClock } from '../support/manual-clock.js';
import { pushRoute, SECRET } from '../support/push-route.js';
import { testPack } from './ingress-fixture.js';
import { type CommitMs, type Sent, VirtualLoad, type VirtualLoadOptions } from './virtual-load.js';

const PUSH = '/in/acme/code/push';
/** 64 receipts in 80 ms: 800 a second, and no more with more at hand. */
const FIXED: CommitMs = () => 80;
/** Each receipt has its price: 800 a second, however many share a commit. */
const EACH: CommitMs = (receipts) => receipts.length * 1.25;
const PER_SECOND = 800;

interface Ledger {
  readonly answers: Sent[];
  /** Deliveries that were acknowledged. */
  readonly acknowledged: string[];
}

/** Offers `perSecond` requests in steps of 10 ms; who is refused comes back as he was told, if he obeys. */
async function offer(
  load: VirtualLoad,
  { path = PUSH, perSecond, ms, obey }: { path?: string; perSecond: number; ms: number; obey: boolean },
  ledger: Ledger = { answers: [], acknowledged: [] },
): Promise<Ledger> {
  const shoot = async (key: string): Promise<void> => {
    const sent = await load.send(path, key);
    ledger.answers.push(sent);
    if (sent.status === 202) ledger.acknowledged.push(key);
    else if (obey) load.clock.after(sent.retryAfterSeconds * 1_000, () => void shoot(key));
  };
  let number = 0;
  for (let step = 0; step < ms / 10; step++) {
    for (; number < ((step + 1) * perSecond) / 100; number++) void shoot(`${path}#${number}`);
    await load.clock.advance(10);
  }
  return ledger;
}

async function settle(load: VirtualLoad, done: () => boolean): Promise<void> {
  for (let second = 0; !done(); second++) {
    if (second > 300) throw new Error('it does not converge');
    await load.clock.advance(1_000);
  }
}

const refusalsOf = (answers: readonly Sent[]): readonly Sent[] =>
  answers.filter(({ status }) => status !== 202);

for (const [kind, commitMs] of Object.entries({
  'a price for each commit': FIXED,
  'a price for each receipt': EACH,
})) {
  test(`[ADM-2, PRS-1, ADM-5, MET-1] three times what the store takes (${kind}): nine tenths of its best are admitted, all else is 503 overloaded`, async () => {
    const load = new VirtualLoad(commitMs);
    const { answers, acknowledged } = await offer(load, {
      perSecond: 3 * PER_SECOND,
      ms: 3_000,
      obey: false,
    });
    expect(acknowledged.length).toBeGreaterThanOrEqual(0.9 * 3 * PER_SECOND);
    const refused = refusalsOf(answers);
    expect(new Set(refused.map(({ status, code }) => `${status} ${code}`))).toEqual(
      new Set(['503 overloaded']),
    );
    for (const { retryAfterSeconds } of refused) {
      expect(Number.isInteger(retryAfterSeconds) && retryAfterSeconds >= 1 && retryAfterSeconds <= 120).toBe(
        true,
      );
    }
    await settle(load, () => load.open === 0);
    // Nobody who was let in waits for long, and none of them in vain.
    const admitted = answers.filter(({ status }) => status === 202).map(({ waitedMs }) => waitedMs);
    expect(Math.max(...admitted)).toBeLessThan(2_500);
    expect(load.stored).toHaveLength(admitted.length);
    const { decisions, shed } = load.counts;
    expect(decisions).toEqual({ accepted: admitted.length, overloaded: refused.length });
    expect((shed.commit_wait ?? 0) + (shed.commit_queue_age ?? 0)).toBe(refused.length);
  });

  test(`[ADM-2, PRS-1] Retry-After obeyed (${kind}): everything is stored once, and refusals end`, async () => {
    const load = new VirtualLoad(commitMs);
    const ledger = await offer(load, { perSecond: 3 * PER_SECOND, ms: 2_000, obey: true });
    const offered = ledger.answers.length;
    await settle(load, () => ledger.acknowledged.length === 2 * 3 * PER_SECOND);
    expect(load.stored).toHaveLength(2 * 3 * PER_SECOND);
    expect(new Set(load.stored)).toEqual(new Set(ledger.acknowledged));
    // Once nobody new comes, who comes back as he was told is served.
    const late = refusalsOf(ledger.answers.slice(offered));
    expect(late.length).toBeLessThan(0.05 * load.stored.length);
    const before = ledger.answers.length;
    const again = await offer(load, { perSecond: PER_SECOND / 2, ms: 1_000, obey: false });
    expect(refusalsOf(again.answers)).toEqual([]);
    expect(ledger.answers).toHaveLength(before);
  });
}

test('[ADM-2] below what the store takes nobody is refused, whatever a commit costs', async () => {
  for (const commitMs of [FIXED, EACH, () => 600]) {
    const load = new VirtualLoad(commitMs);
    const perSecond = commitMs(Array(64).fill(null) as never) > 500 ? 80 : 600;
    const { answers } = await offer(load, { perSecond, ms: 3_000, obey: false });
    expect(refusalsOf(answers)).toEqual([]);
  }
});

test('[ADM-2] commits that take longer than the target are still filled', async () => {
  const load = new VirtualLoad(() => 800);
  const { acknowledged } = await offer(load, { perSecond: 240, ms: 16_000, obey: false });
  // 64 in 0.8 s are 80 a second.
  expect(acknowledged.length).toBeGreaterThanOrEqual(0.9 * 80 * 16);
  expect(load.counts.decisions.commit_deadline).toBeUndefined();
});

test('[ADM-2] a store that slows down to a tenth makes nobody wait until the deadline', async () => {
  let each = 1.25;
  const load = new VirtualLoad((receipts) => receipts.length * each);
  await offer(load, { perSecond: 700, ms: 2_000, obey: false });
  each = 12.5;
  await offer(load, { perSecond: 700, ms: 4_000, obey: false });
  await settle(load, () => load.open === 0);
  expect(load.counts.decisions.commit_deadline).toBeUndefined();
});

const ROUTES = {
  plain: { ...pushRoute, shed: 'normal' },
  bulk: { ...pushRoute, shed: 'first' },
  github: pushRoute,
  slack: { ...pushRoute, verify: signatures.slack({ secret: SECRET }) },
} as const;
const routesPack = definePack({ name: 'code', version: '1.0.0', routes: { ...ROUTES } });

const loadOfRoutes = (options: VirtualLoadOptions = {}): VirtualLoad =>
  new VirtualLoad(FIXED, { pack: routesPack, ...options });

test('[PRS-1] what is shed last gets in while the others are refused', async () => {
  const load = loadOfRoutes();
  const flood = { perSecond: 3 * PER_SECOND, ms: 3_000, obey: false };
  const [bulk, plain, github] = await Promise.all([
    offer(load, { ...flood, path: '/in/acme/code/bulk' }),
    new Promise<Ledger>((resolve) =>
      load.clock.after(500, () => resolve(later(load, '/in/acme/code/plain', 200, 2_000))),
    ),
    new Promise<Ledger>((resolve) =>
      load.clock.after(500, () => resolve(later(load, '/in/acme/code/github', 200, 2_000))),
    ),
  ]);
  expect(refusalsOf(bulk!.answers).length).toBeGreaterThan(PER_SECOND);
  expect(refusalsOf(github!.answers)).toEqual([]);
  expect(refusalsOf(plain!.answers).length).toBeLessThan(0.1 * plain!.answers.length);
});

/** The same as `offer`, by timers of its own, beside one that moves the clock. */
async function later(load: VirtualLoad, path: string, perSecond: number, ms: number): Promise<Ledger> {
  const ledger: Ledger = { answers: [], acknowledged: [] };
  const all: Promise<void>[] = [];
  for (let sentMs = 0; sentMs < ms; sentMs += 1_000 / perSecond) {
    await load.clock.sleep(1_000 / perSecond);
    all.push(load.send(path, `${path}@${sentMs}`).then((sent) => void ledger.answers.push(sent)));
  }
  return ledger;
}

test('[ADM-2] a namespace that floods takes nothing of the share of another', async () => {
  const load = new VirtualLoad(EACH);
  const quiet = new Promise<Ledger>((resolve) =>
    load.clock.after(500, () => resolve(later(load, '/in/globex/code/push', 200, 2_000))),
  );
  const flood = await offer(load, { perSecond: 4 * PER_SECOND, ms: 3_500, obey: false });
  const { answers } = await quiet;
  expect(answers.length).toBeGreaterThan(350);
  expect(refusalsOf(answers)).toEqual([]);
  expect(Math.max(...answers.map(({ waitedMs }) => waitedMs))).toBeLessThan(1_000);
  // And what the other leaves is used.
  expect(flood.acknowledged.length + answers.length).toBeGreaterThanOrEqual(0.9 * 3.5 * PER_SECOND);
});

test('[ADM-2] two that flood are served alike', async () => {
  const load = new VirtualLoad(EACH);
  const second = later(load, '/in/globex/code/push', 1_000, 3_000);
  const first = await offer(load, { perSecond: 3_000, ms: 3_100, obey: false });
  const other = (await second).answers.filter(({ status }) => status === 202).length;
  expect(other / first.acknowledged.length).toBeGreaterThan(0.8);
  expect(other / first.acknowledged.length).toBeLessThan(1.25);
});

test('[ADM-1, ADM-2, OWN-2] three times what a real store takes, until all are in: each is stored once, and drained in the order of its source', async () => {
  const clock = new ManualClock();
  const store = openSqliteStore({ path: ':memory:', unsafeDurability: true, clock, random: systemRandom() });
  onTestFinished(() => store.close());
  await store.migrate();
  const installed = await store.installPacks([{ namespace: 'acme', pack: testPack.name, version: '1.0.0' }]);
  const committed: string[] = [];
  const load = new VirtualLoad(FIXED, {
    clock,
    resolve: routesOf(installed.map((one) => ({ pack: testPack, installed: one }))),
    store: {
      materialize: async (request) => {
        await clock.sleep(FIXED(request.receipts));
        const results = await store.materialize(request);
        committed.push(...request.receipts.map(({ events }) => events[0]!.deliveryKey));
        return results;
      },
    },
  });
  const ledger = await offer(load, { perSecond: 3 * PER_SECOND, ms: 2_000, obey: true });
  // The first commit holds one receipt, the last one has not returned yet.
  expect(ledger.acknowledged.length).toBeGreaterThanOrEqual(0.9 * 2 * PER_SECOND);
  await settle(load, () => ledger.acknowledged.length === 2 * 3 * PER_SECOND);
  expect(refusalsOf(ledger.answers).length).toBeGreaterThan(PER_SECOND);
  const drained = await drain(store, installed[0]!);
  expect(new Set(drained.map(({ key }) => key))).toEqual(new Set(ledger.acknowledged));
  expect(drained).toHaveLength(ledger.acknowledged.length);
  // By source: as their commits went.
  const places = new Map(committed.map((key, place) => [key, place]));
  const last = new Map<string, number>();
  for (const { source, key } of drained) {
    expect(places.get(key)).toBeGreaterThan(last.get(source) ?? -1);
    last.set(source, places.get(key)!);
  }
  expect(last.size).toBe(20);
});

async function drain(store: Store, installed: InstalledPack): Promise<{ source: string; key: string }[]> {
  const drained: { source: string; key: string }[] = [];
  for (;;) {
    const { items } = await store.claim(claimRequest(installed));
    if (items.length === 0) return drained;
    for (const event of await store.loadEvents(items.map(({ eventId }) => eventId)))
      drained.push({ source: event!.sourceKey, key: event!.deliveryKey });
    await store.finalize(items.map(({ lease }) => ({ lease, outcome: { kind: 'completed' } })));
  }
}
