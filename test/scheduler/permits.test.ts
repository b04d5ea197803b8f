import { describe, expect, test } from 'vitest';
import { QUEUE_CLASSES, QUEUE_PROFILES, type QueueClass } from '../../src/core/work.js';
import { executorSlots } from '../../src/scheduler/shapes.js';
import { StoreOutage } from '../../src/store/driver.js';
import { ClaimingSlots } from '../support/claiming-slots.js';
import { turns, until } from '../support/manual-clock.js';
import { useBench, type WorkBench } from '../support/work-bench.js';

const openBench = useBench();

/** One event each of as many sources. */
const admit = (bench: WorkBench, count: number, queueClass: QueueClass): Promise<void> =>
  bench.admit({
    events: Array.from({ length: count }, (_, n) => ({ source: `${queueClass}-${n}`, queueClass })),
  });

const completed = (bench: WorkBench): number =>
  bench.states().filter((state) => state === 'completed').length;

/** Classes of what runs, by the name of the slot's shape. */
const placed = ({ running }: ClaimingSlots): string[] =>
  running.map(({ slot, item }) => `${slot.shape.name}:${item.queueClass}`).sort();

describe('permits', () => {
  for (const profile of QUEUE_PROFILES) {
    test(`[RSV-1] [TRM-5] ${profile}: a scan holds those of its own shape, at most one per waiting slot, and no scan holds none`, async () => {
      const bench = await openBench();
      await bench.admitSources(60, QUEUE_CLASSES);
      const slots = new ClaimingSlots(bench, executorSlots(profile, 8));
      for (let round = 1; completed(bench) < 60; round++) {
        await until(() => slots.running.length > 0, 'something runs');
        await turns();
        // Now one comes back and now all, so that shapes wait in every mixture.
        await slots.finish(round % 3 === 0 ? slots.running.length : 1);
      }
      await until(() => slots.scheduler.isIdle, 'the scheduler rests');
      expect(slots.scheduler.permits).toBeNull();
      for (const { permits, scope, waiting } of slots.scans) {
        expect(permits!.shape.queueClasses).toEqual(scope.queueClasses);
        expect(permits!.count).toBeGreaterThan(0);
        expect(permits!.count).toBeLessThanOrEqual(waiting);
      }
      const shapes = new Set(slots.scans.map(({ permits }) => permits!.shape.name));
      expect([...shapes].sort()).toEqual(['bulk', 'latency', 'shared']);
    });
  }

  test('[RSV-1] a stop in the middle of a scan leaves none: nobody waits for what it brings', async () => {
    const bench = await openBench();
    await bench.admitSources(4, QUEUE_CLASSES);
    const claim = bench.steered.holdAnswer('claim');
    const slots = new ClaimingSlots(bench, executorSlots('reserved', 4));
    await until(claim.arrived, 'a claim is on its way');
    expect(slots.scheduler.permits).not.toBeNull();
    const stopped = slots.scheduler.stop();
    expect(slots.scheduler.permits).toBeNull();
    claim.release();
    await stopped;
    expect(slots.running).toEqual([]);
  });

  test('[RSV-1] [RSV-5] never exceed what the budget leaves', async () => {
    const bench = await openBench();
    await bench.admitSources(20, QUEUE_CLASSES);
    const slots = new ClaimingSlots(bench, executorSlots('reserved', 16), { processingBudget: 3 });
    while (completed(bench) < 20) {
      await until(() => slots.running.length > 0, 'something runs');
      await turns();
      expect(slots.running.length).toBeLessThanOrEqual(3);
      await slots.finish(1);
    }
    expect(Math.max(...slots.scans.map(({ permits, running }) => permits!.count + running))).toBe(3);
  });
});

describe('shapes', () => {
  test('[RSV-3] [RSV-4] reserved: a bulk backlog leaves the slots for urgent work free, and takes all others', async () => {
    const bench = await openBench();
    await admit(bench, 40, 'bulk');
    const slots = new ClaimingSlots(bench, executorSlots('reserved', 8));
    await until(() => slots.running.length === 6, 'all but the latency slots run');
    await turns();
    expect(placed(slots)).toEqual([...Array(2).fill('bulk:bulk'), ...Array(4).fill('shared:bulk')]);
    await bench.admit({ events: [{ source: 'urgent', queueClass: 'interactive' }] });
    slots.scheduler.wake();
    await until(() => slots.running.length === 7, 'the urgent one runs beside them');
    expect(placed(slots)[2]).toBe('latency:interactive');
  });

  test('[RSV-3] [RSV-4] reserved: urgent work leaves the slots for bulk free', async () => {
    const bench = await openBench();
    await bench.admitSources(40, ['interactive', 'default']);
    const slots = new ClaimingSlots(bench, executorSlots('reserved', 8));
    await until(() => slots.running.length === 6, 'all but the bulk slots run');
    await turns();
    expect(slots.running).toHaveLength(6);
    await bench.admit({ events: [{ source: 'late', queueClass: 'bulk' }] });
    slots.scheduler.wake();
    await until(() => slots.running.length === 7, 'bulk runs though it is the youngest');
    expect(placed(slots)[0]).toBe('bulk:bulk');
  });

  test('[RSV-2] [QCL-6] default-heavy: the slots that take bulk first take anything when there is none', async () => {
    const bench = await openBench();
    await admit(bench, 40, 'default');
    const slots = new ClaimingSlots(bench, executorSlots('default-heavy', 8));
    await until(() => slots.running.length === 8, 'all run');
    await admit(bench, 40, 'bulk');
    for (let round = 0; round < 4; round++) {
      await slots.finish();
      await until(() => slots.running.length === 8, 'all run');
    }
    const inBulk = slots.running.filter(({ slot }) => slot.shape.name === 'bulk');
    expect(inBulk.map(({ item }) => item.queueClass)).toEqual(['bulk', 'bulk']);
  });

  test('[RSV-2] a slot alone takes what is interactive first, and every fourth time what is oldest', async () => {
    const bench = await openBench();
    await admit(bench, 3, 'bulk');
    await admit(bench, 6, 'interactive');
    const slots = new ClaimingSlots(bench, executorSlots('reserved', 1));
    const order: string[] = [];
    while (order.length < 9) {
      await until(() => slots.running.length === 1, 'the next one runs');
      order.push(slots.running[0]!.item.queueClass);
      await slots.finish();
    }
    const three = ['interactive', 'interactive', 'interactive'];
    expect(order).toEqual([...three, 'bulk', ...three, 'bulk', 'bulk']);
  });

  test('[RSV-4] a shape that always finds more lets the others have their turn', async () => {
    const bench = await openBench();
    await admit(bench, 30, 'interactive');
    await admit(bench, 4, 'bulk');
    const slots = new ClaimingSlots(bench, executorSlots('reserved', 4));
    const order: string[] = [];
    for (let round = 0; round < 3; round++) {
      await until(() => slots.running.length === 4, 'every slot runs');
      order.push(...placed(slots));
      await slots.finish();
    }
    expect(order.filter((name) => name === 'bulk:bulk')).toHaveLength(3);
    expect(order.filter((name) => name === 'latency:interactive')).toHaveLength(3);
  });

  test('[RSV-1] what was enqueued wakes the shapes that may run it, and leaves the others alone', async () => {
    const bench = await openBench();
    const slots = new ClaimingSlots(bench, executorSlots('reserved', 4));
    await until(() => slots.scheduler.isIdle, 'the scheduler rests');
    await admit(bench, 5, 'default');
    const before = slots.scans.length;
    slots.scheduler.wake(['default']);
    await until(() => slots.running.length === 3, 'latency and shared slots run');
    await turns();
    const scans = slots.scans.slice(before).map(({ verb, permits }) => `${verb} ${permits!.shape.name}`);
    // Announced work is claimed without a look. That the shared slots found all they asked for is for bulk to look at.
    expect(scans.sort()).toEqual(['claim latency', 'claim shared', 'peek bulk']);
  });

  test('[OWN-5] an unanswered claim is asked again for the shape it was for, and its slots get what it brings', async () => {
    const bench = await openBench();
    await admit(bench, 1, 'bulk');
    const slots = new ClaimingSlots(bench, executorSlots('reserved', 4));
    await until(() => slots.running.length === 1, 'the first one runs');
    await slots.finish();
    await until(() => slots.scheduler.isIdle, 'the scheduler rests');
    await admit(bench, 4, 'bulk');
    bench.steered.loseAnswer('claim', new StoreOutage('cut', 'unknown'));
    slots.scheduler.wake();
    await bench.clock.advance(1_000);
    await until(() => slots.running.length === 3, 'bulk and shared slots run');
    expect(placed(slots)).toEqual(['bulk:bulk', 'shared:bulk', 'shared:bulk']);
    expect(slots.released).toEqual([]);
    expect(bench.items().every((row) => Number(row.Failures) === 0)).toBe(true);
  });
});
