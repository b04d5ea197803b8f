import { describe, expect, test } from 'vitest';
import { createLeaseKeeper } from '../../src/executor/lease-keeper.js';
import type { ClaimedItem } from '../../src/store/store.js';
import { claimRequest } from '../conformance/fixture.js';
import { turns, until } from '../support/manual-clock.js';
import { LEASE_MS, useBench } from '../support/work-bench.js';

const openBench = useBench();

/** A keeper over a real store, with a main thread that beats as long as `alive`. */
async function keeping(count: number) {
  const bench = await openBench();
  await bench.admitSources(count);
  const { items } = await bench.store.claim({
    ...claimRequest(bench.installed, { leaseMs: LEASE_MS }),
    maxClaims: 1_000,
    processingBudget: 1_000,
  });
  const main = { alive: true, beat: 0 };
  const renewed: { readonly ids: readonly number[]; readonly sentAt: number }[] = [];
  const lost: number[] = [];
  const keeper = createLeaseKeeper({
    service: bench.store,
    clock: bench.clock,
    leaseMs: LEASE_MS,
    beats: () => (main.alive ? ++main.beat : main.beat),
    onRenewed: (ids, sentAt) => renewed.push({ ids, sentAt }),
    onLost: (ids) => lost.push(...ids),
  });
  const track = (tracked: readonly ClaimedItem[], renewUntil = Number.POSITIVE_INFINITY) =>
    keeper.track(
      tracked.map(({ lease }) => ({
        id: items.findIndex((item) => item.lease === lease),
        lease,
        sentAt: bench.clock.monotonic(),
        renewUntil,
      })),
    );
  const leaseEnds = () => bench.items().map((row) => row.LeaseUntil! - bench.clock.now());
  return { bench, items, main, keeper, track, renewed, lost, leaseEnds };
}

describe('leases', () => {
  test('[TRM-4] are renewed every third of a lease, all with one request', async () => {
    const { bench, items, track, renewed } = await keeping(3);
    track(items);
    await bench.clock.advance(LEASE_MS / 3 - 1);
    expect(renewed).toEqual([]);
    await bench.clock.advance(1);
    expect(renewed).toEqual([{ ids: [0, 1, 2], sentAt: LEASE_MS / 3 }]);
    await bench.clock.advance(10 * LEASE_MS);
    expect(bench.steered.count('renew')).toBe(31);
  });

  test('[TRM-4] are not renewed for a main thread that has not beaten for half a lease, and are again when it does', async () => {
    const { bench, items, main, track, renewed, leaseEnds } = await keeping(1);
    track(items);
    await bench.clock.advance(LEASE_MS / 3);
    main.alive = false;
    await bench.clock.advance(LEASE_MS);
    expect(renewed.every(({ sentAt }) => sentAt <= LEASE_MS / 3 + LEASE_MS / 2)).toBe(true);
    expect(leaseEnds()[0]).toBeLessThan(LEASE_MS / 2);
    const before = renewed.length;
    main.alive = true;
    await bench.clock.advance(LEASE_MS / 12);
    expect(renewed).toHaveLength(before + 1);
  });

  test('[OWN-5] are lost when nobody renewed them in time, also where nobody has taken them over', async () => {
    const { bench, items, main, track, lost, leaseEnds } = await keeping(1);
    track(items);
    main.alive = false;
    await bench.clock.advance(2 * LEASE_MS);
    expect(leaseEnds()[0]).toBeLessThan(0);
    main.alive = true;
    await bench.clock.advance(LEASE_MS / 12);
    expect(lost).toHaveLength(1);
  });

  test('[TRM-4] are not renewed for a main thread that stopped beating while a renewal was waited for', async () => {
    const { bench, items, main, track, renewed } = await keeping(1);
    track(items);
    const held = bench.steered.holdAnswer('renew');
    await bench.clock.advance(LEASE_MS / 2);
    expect(held.arrived()).toBe(true);
    main.alive = false;
    main.beat++;
    await bench.clock.advance(LEASE_MS);
    held.release();
    await bench.clock.advance(LEASE_MS);
    expect(renewed).toHaveLength(1);
    expect(bench.steered.count('renew')).toBe(1);
  });

  test('are renewed for a main thread that is only busy', async () => {
    const { bench, items, main, track, renewed } = await keeping(1);
    track(items);
    await bench.clock.advance(LEASE_MS / 4);
    main.alive = false;
    await bench.clock.advance(LEASE_MS / 3);
    expect(renewed).toHaveLength(1);
  });

  test('[TRM-4] are not renewed past their limit', async () => {
    const { bench, items, track, renewed, leaseEnds } = await keeping(1);
    track(items, 2 * LEASE_MS);
    await bench.clock.advance(20 * LEASE_MS);
    expect(renewed.at(-1)!.sentAt).toBeLessThan(2 * LEASE_MS);
    expect(leaseEnds()[0]).toBeLessThan(0);
  });

  test('that end are renewed no more, and no timer is left', async () => {
    const { bench, items, keeper, track } = await keeping(1);
    track(items);
    keeper.untrack([0]);
    await bench.clock.advance(LEASE_MS);
    expect(bench.steered.count('renew')).toBe(0);
    expect(bench.clock.pending).toBe(0);
  });

  test('[OWN-5] that the store does not know any more are reported lost, once, and the others kept', async () => {
    const { bench, items, track, renewed, lost } = await keeping(2);
    track([items[0]!, { ...items[1]!, lease: items[1]!.lease }]);
    bench.sql(
      'UPDATE _System_ConnectorWorkItem SET OwnershipEpoch = 9 WHERE WorkId = ?',
      items[1]!.lease.workId,
    );
    await bench.clock.advance(LEASE_MS);
    expect(lost).toEqual([1]);
    expect(renewed.every(({ ids }) => ids.join() === '0')).toBe(true);
  });

  test('[OWN-5] of one item under an old and a new claim are told apart', async () => {
    const { bench, items, keeper, lost, renewed } = await keeping(1);
    const [item] = items;
    const old = { ...item!.lease, epoch: 0, token: 'old' };
    const common = { sentAt: 0, renewUntil: Number.POSITIVE_INFINITY };
    keeper.track([
      { id: 1, lease: old, ...common },
      { id: 2, lease: item!.lease, ...common },
    ]);
    await bench.clock.advance(LEASE_MS / 3);
    expect(lost).toEqual([1]);
    expect(renewed).toEqual([{ ids: [2], sentAt: LEASE_MS / 3 }]);
  });

  test('are asked for again when the store does not answer', async () => {
    const { bench, items, track, renewed } = await keeping(1);
    track(items);
    bench.steered.failNext('renew', new Error('no answer'));
    await bench.clock.advance(LEASE_MS / 3);
    expect(renewed).toEqual([]);
    await bench.clock.advance(LEASE_MS / 12);
    expect(renewed).toHaveLength(1);
  });

  test('by the hundred: the one that is gone is found among them', async () => {
    const { bench, items, track, lost } = await keeping(600);
    track(items);
    bench.sql(
      'UPDATE _System_ConnectorWorkItem SET LeaseToken = ? WHERE WorkId = ?',
      'x',
      items[577]!.lease.workId,
    );
    await bench.clock.advance(LEASE_MS / 3);
    expect(lost).toEqual([577]);
    expect(bench.steered.count('renew')).toBe(10);
  });
});

describe('close', () => {
  test('waits for the renewal in flight and sends no other', async () => {
    const { bench, items, keeper, track } = await keeping(600);
    track(items);
    const held = bench.steered.holdAnswer('renew');
    void bench.clock.advance(LEASE_MS / 3);
    await until(held.arrived, 'a renewal is in flight');
    let closed = false;
    const close = keeper.close().then(() => {
      closed = true;
    });
    await turns();
    expect(closed).toBe(false);
    held.release();
    await close;
    await bench.clock.advance(10 * LEASE_MS);
    expect(bench.steered.count('renew')).toBe(1);
    expect(bench.clock.pending).toBe(0);
  });
});
