import { describe, expect, test } from 'vitest';
import { LimitTurns } from '../../src/scheduler/limit-turns.js';
import type { ClaimLimits } from '../../src/store/store.js';
import { ClaimingSlots, granted, sharedSlots } from '../support/claiming-slots.js';
import { turns, until } from '../support/manual-clock.js';
import { useBench } from '../support/work-bench.js';

const openBench = useBench();

const limits = (declared: Partial<ClaimLimits>): { limits: ClaimLimits } => ({
  limits: { packName: 'bench', pack: null, namespace: null, source: null, ...declared },
});
const perSecond = (count: number) => ({ rate: { count, perMs: 1_000, burst: 1 }, concurrency: null });

describe('claims of a pack with limits', () => {
  test('[LIM-1] [LIM-3] a used-up rate is waited out: wakes ask the store nothing, and the next start is not late', async () => {
    const bench = await openBench();
    await bench.admitSources(3);
    const slots = new ClaimingSlots(bench, sharedSlots(4), limits({ namespace: perSecond(4) }));
    await until(() => slots.running.length === 1, 'one runs');
    await turns();
    const asked = slots.scans.length;
    for (let wake = 0; wake < 5; wake++) {
      slots.scheduler.wake();
      await turns();
    }
    expect(slots.scans.length).toBe(asked);
    await bench.clock.advance(249);
    expect(slots.running).toHaveLength(1);
    await bench.clock.advance(1);
    await until(() => slots.running.length === 2, 'the second one runs');
    await bench.clock.advance(250);
    await until(() => slots.running.length === 3, 'the third one runs');
  });

  test('[LIM-2] a limited source leaves the slots to others, and comes when it is due', async () => {
    const bench = await openBench();
    const events = ['a', 'a', 'a', 'b', 'c'].map((source) => ({ source }));
    await bench.admit({ ordering: 'none', events });
    const slots = new ClaimingSlots(bench, sharedSlots(3), limits({ source: perSecond(1) }));
    await until(() => slots.running.length === 3, 'one of each source runs');
    await slots.finish();
    await turns();
    expect(slots.running).toHaveLength(0);
    for (let second = 0; second < 2; second++) {
      await bench.clock.advance(1_000);
      await until(() => slots.running.length === 1, 'the next one of a runs');
      await slots.finish();
    }
    expect(bench.states()).toEqual(Array(5).fill('completed'));
  });

  test('[LIM-1] expired leases are looked for, however long a rate is used up', async () => {
    const bench = await openBench();
    await bench.admitSources(2);
    const hourly = { rate: { count: 1, perMs: 3_600_000, burst: 1 }, concurrency: null };
    const slots = new ClaimingSlots(bench, sharedSlots(2), limits({ namespace: hourly }));
    await until(() => slots.running.length === 1, 'one runs');
    const before = slots.scans.length;
    for (let second = 0; second < 5; second++) await bench.clock.advance(1_000);
    expect(slots.scans.length - before).toBeGreaterThanOrEqual(4);
    expect(slots.scans.length - before).toBeLessThanOrEqual(15);
  });

  describe('[SCH-4] [LIM-1] that takes turns under them with others', () => {
    const one = { rate: null, concurrency: 1 };

    test('a stop while somebody else has the turn scans no more', async () => {
      const bench = await openBench();
      const order = new LimitTurns(bench.clock);
      const other = { takeTurn: () => true };
      order.ended(other, { found: false, denied: true });
      order.freed();
      const slots = new ClaimingSlots(bench, sharedSlots(1), { ...limits({ pack: one }), turns: order });
      let decisions = 0;
      slots.decide = (asked) => {
        decisions++;
        return granted(asked);
      };
      await turns();
      const stopping = slots.scheduler.stop();
      order.ended(other, { found: true, denied: false });
      await stopping;
      expect([decisions, slots.scans.length, slots.ended]).toEqual([0, 0, 1]);
    });

    test('a stop in its own turn passes it on at once', async () => {
      const bench = await openBench();
      await bench.admitSources(3);
      const order = new LimitTurns(bench.clock);
      const shared = { ...limits({ pack: one }), turns: order };
      const first = new ClaimingSlots(bench, sharedSlots(1), shared);
      await until(() => first.running.length === 1, 'one runs');
      const second = new ClaimingSlots(bench, sharedSlots(1), shared);
      await until(() => second.scans.length > 0, 'the other one has found no place');
      await turns();
      order.freed();
      await second.scheduler.stop();
      await first.finish();
      await until(() => first.running.length === 1, 'who is left goes on, by a clock that stands');
    });
  });
});
