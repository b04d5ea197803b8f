import { describe, expect, test } from 'vitest';
import { StoreOutage } from '../../src/store/driver.js';
import type { ClaimRequest } from '../../src/store/store.js';
import { ClaimingSlots, sharedSlots } from '../support/claiming-slots.js';
import { turns, until } from '../support/manual-clock.js';
import { LEASE_MS, useBench, type WorkBench } from '../support/work-bench.js';

const openBench = useBench();

describe('scans', () => {
  test('[TRM-3] [SCH-1] [SCH-2] [SCH-3] 16 slots share one scanner: never two scans at once, one claim for all', async () => {
    const bench = await openBench();
    await bench.admitSources(48);
    const slots = new ClaimingSlots(bench, sharedSlots(16));
    for (let round = 1; round <= 3; round++) {
      await until(() => slots.running.length === 16, 'all slots run');
      expect(bench.steered.count('claim')).toBe(round);
      slots.scheduler.wake();
      slots.scheduler.wake();
      await slots.finish();
    }
    await until(() => slots.scheduler.isIdle, 'the scheduler rests');
    expect(bench.states().filter((state) => state === 'completed')).toHaveLength(48);
    expect(bench.steered.mostScans).toBe(1);
  });

  test('[SCH-2] [SCH-3] slots that come back while a claim is in flight wait for it to end', async () => {
    const bench = await openBench();
    await bench.admitSources(2);
    const slots = new ClaimingSlots(bench, sharedSlots(2));
    await until(() => slots.running.length === 2, 'both run');
    const claim = bench.steered.holdAnswer('claim');
    await slots.finish();
    await until(claim.arrived, 'the next claim is in flight');
    slots.ask(sharedSlots(3)[2]!);
    slots.scheduler.wake();
    await turns();
    expect(bench.steered.mostScans).toBe(1);
    claim.release();
    await until(() => slots.scheduler.isIdle, 'the scheduler rests');
    expect(bench.steered.mostScans).toBe(1);
  });

  test('[SCH-9] a wake during a scan is not lost: what came after its reading is claimed next', async () => {
    const bench = await openBench();
    const claim = bench.steered.holdAnswer('claim');
    const slots = new ClaimingSlots(bench, sharedSlots(2));
    await until(claim.arrived, 'a claim has read an empty queue');
    await bench.admitSources(1);
    slots.scheduler.wake();
    claim.release();
    await until(() => slots.running.length === 1, 'the item runs, without any time passing');
  });

  test('[SCH-9] a wake during an idle look is not lost', async () => {
    const bench = await openBench();
    const look = bench.steered.holdAnswer('peek');
    const slots = new ClaimingSlots(bench, sharedSlots(1));
    await until(look.arrived, 'a look has read an empty queue');
    await bench.admitSources(1);
    slots.scheduler.wake();
    look.release();
    await until(() => slots.running.length === 1, 'the item runs, without any time passing');
  });

  test('[SCH-4] work that nobody announced here is found by polling', async () => {
    const bench = await openBench();
    const slots = new ClaimingSlots(bench, sharedSlots(1));
    await until(() => slots.scheduler.isIdle, 'the scheduler rests');
    await bench.admitSources(1);
    await bench.clock.advance(1_000);
    expect(slots.running).toHaveLength(1);
  });

  test('an item due later is claimed when it is due, however long the scheduler has been idle', async () => {
    const bench = await openBench();
    const slots = new ClaimingSlots(bench, sharedSlots(1));
    await bench.clock.advance(10_000);
    await bench.admit({ events: [{ runAfter: bench.clock.now() + 400 }] });
    slots.scheduler.wake();
    await bench.clock.advance(399);
    expect(slots.running).toHaveLength(0);
    await bench.clock.advance(1);
    expect(slots.running).toHaveLength(1);
  });
});

describe('the cost of waiting', () => {
  test('an idle pack costs at most two statements a second', async () => {
    let statements = 0;
    const bench = await openBench(() => statements++);
    const slots = new ClaimingSlots(bench, sharedSlots(4));
    await bench.clock.advance(10_000);
    expect(slots.scheduler.isIdle).toBe(true);
    statements = 0;
    await bench.clock.advance(60_000);
    expect(statements).toBeLessThanOrEqual(120);
    expect(statements).toBeGreaterThan(0);
  });

  test('[DRN-1] a budget that others have used up is not asked for in a loop', async () => {
    const bench = await openBench();
    await bench.admitSources(2);
    const other = new ClaimingSlots(bench, sharedSlots(1), { processingBudget: 1 });
    await until(() => other.running.length === 1, 'another holder uses the budget');
    const before = bench.steered.count('claim');
    const slots = new ClaimingSlots(bench, sharedSlots(1), { processingBudget: 1 });
    await bench.clock.advance(LEASE_MS - 1);
    expect(slots.running).toHaveLength(0);
    expect(bench.steered.count('claim') - before).toBeLessThan(10);
  });
});

describe('the budget', () => {
  test('[TRM-2] [DRN-1] rows in processing stay within a budget smaller than the slots', async () => {
    const bench = await openBench();
    await bench.admitSources(10);
    const slots = new ClaimingSlots(bench, sharedSlots(16), { processingBudget: 3 });
    const processing = () => bench.states().filter((state) => state === 'processing').length;
    for (let round = 0; round < 3; round++) {
      await until(() => slots.running.length === 3, 'three run');
      await turns();
      expect(processing()).toBe(3);
      expect(slots.running).toHaveLength(3);
      await slots.finish();
    }
    await until(() => slots.running.length === 1, 'the last one runs');
  });
});

describe('a store that fails', () => {
  const outage = () => new StoreOutage('no connection', 'none');
  const requests = (bench: WorkBench): ClaimRequest[] =>
    bench.steered.calls.filter((call) => call.verb === 'claim').map((call) => call.args[0] as ClaimRequest);
  const tokens = (bench: WorkBench): Set<string> => new Set(requests(bench).map(({ token }) => token));

  test('[OWN-5] is asked again after a rest that no wake cuts short, with the same token until it answers', async () => {
    const bench = await openBench();
    await bench.admitSources(1);
    for (let failure = 0; failure < 3; failure++) bench.steered.failNext('claim', outage());
    const slots = new ClaimingSlots(bench, sharedSlots(1));
    await until(() => bench.steered.count('claim') === 1, 'the first claim failed');
    for (let wake = 0; wake < 10; wake++) {
      slots.scheduler.wake();
      await turns();
    }
    expect(bench.steered.count('claim')).toBe(1);
    await bench.clock.advance(1_000);
    expect(slots.running).toHaveLength(1);
    expect(bench.steered.count('claim')).toBe(4);
    expect(tokens(bench).size).toBe(1);
    expect(requests(bench).map(({ repeat }) => repeat)).toEqual([false, true, true, true]);
    await slots.finish();
    await until(() => slots.scheduler.isIdle, 'the scheduler rests');
    expect(tokens(bench).size).toBe(2);
    expect(requests(bench).at(-1)!.repeat).toBe(false);
  });

  test('does not end the scheduler, whatever it throws', async () => {
    const bench = await openBench();
    bench.steered.failNext('claim', new TypeError('a bug'));
    bench.steered.failNext('peek', undefined);
    const slots = new ClaimingSlots(bench, sharedSlots(1));
    await bench.clock.advance(1_000);
    await bench.admitSources(1);
    await bench.clock.advance(1_000);
    expect(slots.running).toHaveLength(1);
  });
});

describe('stop', () => {
  test('[EXE-4] gives back what a claim in flight brings: no slot runs it, no failure is counted', async () => {
    const bench = await openBench();
    await bench.admitSources(3);
    const claim = bench.steered.holdAnswer('claim');
    const slots = new ClaimingSlots(bench, sharedSlots(2));
    await until(claim.arrived, 'a claim has taken two items');
    let stopped = false;
    const stop = slots.scheduler.stop().then(() => {
      stopped = true;
    });
    await turns();
    expect(slots.ended).toBe(2);
    expect(stopped).toBe(false);
    claim.release();
    await stop;
    expect(slots.released).toHaveLength(2);
    expect(bench.items().map((row) => [row.State, row.Failures])).toEqual([
      ['pending', 0],
      ['pending', 0],
      ['pending', 0],
    ]);
  });

  test('ends waiting slots and all scanning; a slot that asks later gets nothing', async () => {
    const bench = await openBench();
    const slots = new ClaimingSlots(bench, sharedSlots(2));
    await until(() => slots.scheduler.isIdle, 'the scheduler rests');
    await slots.scheduler.stop();
    await slots.scheduler.stop();
    const calls = bench.steered.calls.length;
    slots.ask(sharedSlots(3)[2]!);
    slots.scheduler.wake();
    await bench.clock.advance(60_000);
    expect(slots.ended).toBe(3);
    expect(bench.steered.calls).toHaveLength(calls);
    expect(bench.clock.pending).toBe(0);
  });

  test('before the first scan is safe', async () => {
    const bench = await openBench();
    const slots = new ClaimingSlots(bench, sharedSlots(1));
    await slots.scheduler.stop();
    await turns();
    expect(slots.ended).toBe(1);
    expect(bench.steered.calls).toHaveLength(0);
  });
});
