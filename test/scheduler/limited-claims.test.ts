import { describe, expect, test } from 'vitest';
import { LimitTurns } from '../../src/scheduler/limit-turns.js';
import type { ClaimLimits, InstalledPack } from '../../src/store/store.js';
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
    const atOnce = (concurrency: number) => ({ rate: null, concurrency });

    const openLine = async (declared: Partial<ClaimLimits>) => {
      const bench = await openBench();
      await bench.admitSources(9);
      const order = new LimitTurns(bench.clock);
      const begin = (count = 1, installed = bench.installed): ClaimingSlots =>
        new ClaimingSlots(bench, sharedSlots(count), { ...limits(declared), turns: order, installed });
      const join = async (count?: number, installed?: InstalledPack): Promise<ClaimingSlots> => {
        const slots = begin(count, installed);
        await until(() => slots.running.length > 0 || slots.scans.length > 1, 'it has a place or found none');
        await turns();
        return slots;
      };
      return { bench, order, begin, join };
    };

    test('a stop while somebody else has the turn scans no more', async () => {
      const { order, begin } = await openLine({ pack: atOnce(1) });
      const other = { takeTurn: () => true };
      order.ended(other, { found: false, denied: true });
      order.freed();
      const slots = begin();
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
      const { order, join } = await openLine({ pack: atOnce(1) });
      const first = await join();
      const second = await join();
      order.freed();
      await second.scheduler.stop();
      await first.finish();
      await until(() => first.running.length === 1, 'who is left goes on, by a clock that stands');
    });

    test('the place that a stop in mid-claim gives back is the next one’s', async () => {
      const { bench, begin, join } = await openLine({ pack: atOnce(1) });
      const claiming = bench.steered.holdAnswer('claim');
      const stops = begin();
      await until(claiming.arrived, 'it has claimed');
      const next = await join();
      expect(next.running).toHaveLength(0);
      const stopping = stops.scheduler.stop();
      await turns();
      claiming.release();
      await stopping;
      await until(() => next.running.length === 1, 'the next one runs, by a clock that stands');
    });

    test('the same of a stop in its own turn', async () => {
      const { bench, join } = await openLine({ pack: atOnce(1) });
      const [before, stops, next] = [await join(), await join(), await join()];
      const claiming = bench.steered.holdAnswer('claim');
      await before.scheduler.stop();
      await before.finish();
      await until(claiming.arrived, 'it has claimed in its turn');
      const stopping = stops.scheduler.stop();
      await turns();
      claiming.release();
      await stopping;
      expect(stops.released).toHaveLength(1);
      await until(() => next.running.length === 1, 'the next one runs, by a clock that stands');
    });

    test('a turn is not used up by a scan that began before its place was free', async () => {
      const { bench, join } = await openLine({ pack: atOnce(1) });
      const first = await join();
      const second = await join();
      for (let round = 0; round < 3; round++) {
        const older = bench.steered.holdAnswer('claim');
        for (let step = 0; step < 60 && !older.arrived(); step++) await bench.clock.advance(25);
        expect(older.arrived()).toBe(true);
        await first.finish();
        await turns();
        older.release();
        await until(() => second.running.length === 1, 'it runs in its turn');
        expect(first.running).toHaveLength(0);
        await second.finish();
        await until(() => first.running.length === 1, 'and the other one after it');
        await turns();
      }
    });

    test('who is kept out by the limit of its own namespace alone stands in nobody’s way', async () => {
      const { bench, join } = await openLine({ pack: atOnce(2), namespace: atOnce(1) });
      const [b, c] = await bench.store.installPacks(
        ['b', 'c'].map((namespace) => ({ namespace, pack: 'bench', version: '1.0.0' })),
      );
      for (const installed of [b!, c!]) await bench.admitSources(9, ['default'], installed);
      const long = await join(2, b!);
      long.scheduler.wake();
      await turns();
      const [first, second] = [await join(), await join(1, c!)];
      const ran: number[] = [];
      for (let round = 0; round < 6; round++) {
        const busy = first.running.length > 0 ? first : second;
        ran.push(busy === first ? 1 : 2);
        await busy.finish();
        await until(() => first.running.length + second.running.length === 1, 'the next one runs');
        await turns();
      }
      expect(ran).toEqual([1, 2, 1, 2, 1, 2]);
    });
  });
});
