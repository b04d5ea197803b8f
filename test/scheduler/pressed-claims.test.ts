import { describe, expect, test } from 'vitest';
import type { ClaimDecision } from '../../src/scheduler/claim-limiter.js';
import { StoreOutage } from '../../src/store/store.js';
import { ClaimingSlots, granted, sharedSlots } from '../support/claiming-slots.js';
import { turns, until } from '../support/manual-clock.js';
import { LEASE_MS, useBench, type WorkBench } from '../support/work-bench.js';

const openBench = useBench();

const denied = (): ClaimDecision => ({ kind: 'denied', probe: 'walBytes', maxClaims: 0, restMs: 250 });
const staleOnly = (asked: number): ClaimDecision => ({
  kind: 'stale_only',
  probe: 'degraded',
  maxClaims: asked,
  restMs: 250,
});

const verbs = ({ scans }: ClaimingSlots): string[] => scans.map(({ verb }) => verb);

/** So many items under a lease of somebody who is gone. */
async function abandon(bench: WorkBench, count: number): Promise<void> {
  const { packId, generation } = bench.installed;
  await bench.admitSources(count);
  await bench.store.claim({
    packId,
    generation,
    claimWorkTypes: [],
    queueClasses: [],
    preference: [],
    maxClaims: count,
    leaseMs: LEASE_MS,
    processingBudget: 256,
    mode: 'any',
    token: 'of somebody who is gone',
    holder: 'gone',
  });
  await bench.clock.advance(LEASE_MS + 1);
}

test('[ADM-4] a claim begins when it is its turn, and its lease counts from there', async () => {
  const bench = await openBench();
  await bench.admitSources(1);
  const slots = new ClaimingSlots(bench, sharedSlots(1));
  let go: () => void = () => undefined;
  slots.turn = () =>
    new Promise((resolve) => {
      go = resolve;
    });
  await turns();
  expect(slots.scans).toEqual([]);
  await bench.clock.advance(40);
  go();
  await until(() => slots.running.length === 1, 'it runs');
  expect(verbs(slots)).toEqual(['claim']);
  expect(slots.claimSentAt).toBe(40);
});

test('[ADM-4] a scheduler that is stopped before its turn claims nothing', async () => {
  const bench = await openBench();
  await bench.admitSources(1);
  const slots = new ClaimingSlots(bench, sharedSlots(1));
  const asked: (() => void)[] = [];
  slots.turn = () => new Promise((go) => void asked.push(go));
  await until(() => asked.length === 1, 'it asks for its turn');
  const stopped = slots.scheduler.stop();
  asked[0]!();
  await stopped;
  expect(slots.scans).toEqual([]);
});

describe('claims under pressure', () => {
  test('[PRS-2] a denied scan asks the store nothing, is not hurried by wakes, and comes again', async () => {
    const bench = await openBench();
    await bench.admitSources(2);
    const slots = new ClaimingSlots(bench, sharedSlots(2));
    slots.decide = denied;
    await turns();
    for (let wake = 0; wake < 5; wake++) {
      slots.scheduler.wake();
      await turns();
    }
    expect(slots.scans).toEqual([]);
    expect(slots.scheduler.permits).toBeNull();
    expect(slots.scheduler.isIdle).toBe(false);
    slots.decide = granted;
    await bench.clock.advance(250);
    await until(() => slots.running.length === 2, 'both run');
  });

  test('[PRS-2] a reduced scan reserves and claims so many, and the next one waits', async () => {
    const bench = await openBench();
    await bench.admitSources(8);
    const slots = new ClaimingSlots(bench, sharedSlots(8));
    slots.decide = (asked) => ({
      kind: 'reduced',
      probe: 'statementMs',
      maxClaims: Math.min(asked, 3),
      restMs: 100,
    });
    await until(() => slots.running.length === 3, 'three run');
    slots.scheduler.wake();
    await turns();
    expect(slots.running).toHaveLength(3);
    expect(slots.scans.map(({ permits }) => permits!.count)).toEqual([3]);
    await bench.clock.advance(100);
    await until(() => slots.running.length === 6, 'six run');
  });

  test('[PRS-2] a scan that fails rests for as long as was decided before it, and no shorter', async () => {
    const bench = await openBench();
    await bench.admitSources(2);
    const slots = new ClaimingSlots(bench, sharedSlots(2));
    let decided = 0;
    slots.decide = (asked) => {
      decided++;
      return { kind: 'reduced', probe: 'statementMs', maxClaims: asked, restMs: 240 };
    };
    bench.store.claim = () => Promise.reject(new StoreOutage('the connection was lost', 'none'));
    slots.scheduler.wake();
    await until(() => decided === 1, 'the first scan fails');
    await bench.clock.advance(239);
    expect(decided).toBe(1);
    await bench.clock.advance(1);
    await until(() => decided === 2, 'the next one follows');
  });

  test('[PRS-2] [QCL-7] a degraded probe: expired leases are taken over, fresh work waits until it answers', async () => {
    const bench = await openBench();
    await abandon(bench, 2);
    await bench.admitSources(4);
    const slots = new ClaimingSlots(bench, sharedSlots(4));
    slots.decide = staleOnly;
    await until(() => slots.running.length === 2, 'both are taken over');
    expect(slots.running.map(({ item }) => item.reclaimed)).toEqual([true, true]);
    for (let look = 0; look < 8; look++) await bench.clock.advance(250);
    expect(slots.running).toHaveLength(2);
    expect(new Set(verbs(slots))).toEqual(new Set(['reclaim']));
    slots.decide = granted;
    await bench.clock.advance(250);
    await until(() => slots.running.length === 4, 'fresh work runs too');
  });

  test('[PRS-3] a service without a takeover of its own claims nothing while the probe is degraded', async () => {
    const bench = await openBench();
    await abandon(bench, 2);
    await bench.admitSources(4);
    const slots = new ClaimingSlots(bench, sharedSlots(4), { takesOver: false });
    slots.decide = staleOnly;
    for (let look = 0; look < 8; look++) await bench.clock.advance(250);
    expect(slots.scans).toEqual([]);
    expect(slots.running).toEqual([]);
    slots.decide = granted;
    await bench.clock.advance(250);
    await until(() => slots.running.length === 4, 'all that may run runs');
  });
});
