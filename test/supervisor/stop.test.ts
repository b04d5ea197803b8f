import { describe, expect, test } from 'vitest';
import { StoreOutage } from '../../src/store/driver.js';
import { turns, until } from '../support/manual-clock.js';
import { type Flow, gate, LEASE_MS, packOf, record, useBench } from '../support/work-bench.js';

const openBench = useBench();
const DRAINED = { drained: true, abandoned: 0 };

async function running(count: number, flow: Flow, route: Parameters<typeof packOf>[1] = {}) {
  const bench = await openBench();
  await bench.admitSources(count);
  const supervisor = bench.supervise(packOf(flow, route), { settings: { stopGraceMs: 1_000 } });
  const started = record(supervisor.events, 'started');
  supervisor.start();
  return { bench, supervisor, started };
}

/** A promise, and whether it has settled. */
function watch<T>(promise: Promise<T>) {
  const state: { settled: boolean; value: T | null } = { settled: false, value: null };
  void promise.then((value) => Object.assign(state, { settled: true, value }));
  return state;
}

describe('stop', () => {
  test('before start is safe and wins: a later start does nothing', async () => {
    const bench = await openBench();
    await bench.admitSources(1);
    const supervisor = bench.supervise(packOf(() => undefined));
    expect(await supervisor.stop({ timeoutMs: 1_000 })).toEqual(DRAINED);
    supervisor.start();
    supervisor.wake();
    await bench.clock.advance(10_000);
    expect(bench.states()).toEqual(['pending']);
    expect(bench.clock.pending).toBe(0);
  });

  test('twice, and right after start, is safe', async () => {
    const { bench, supervisor } = await running(3, () => undefined);
    const [first, second] = [supervisor.stop({ timeoutMs: 1_000 }), supervisor.stop({ timeoutMs: 5 })];
    expect(await first).toEqual(DRAINED);
    expect(await second).toEqual(DRAINED);
    expect(bench.states().includes('processing')).toBe(false);
    expect(bench.clock.pending).toBe(0);
  });

  test('during a claim gives the claimed items back, at no cost', async () => {
    const bench = await openBench();
    await bench.admitSources(2);
    const claim = bench.steered.holdAnswer('claim');
    const flows: string[] = [];
    const supervisor = bench.supervise(packOf((event) => void flows.push(event.id)));
    supervisor.start();
    await until(claim.arrived, 'a claim is in flight');
    const stop = watch(supervisor.stop({ timeoutMs: 60_000 }));
    await turns();
    expect(stop.settled).toBe(false);
    claim.release();
    await until(() => stop.settled, 'the stop ends');
    expect(stop.value).toEqual(DRAINED);
    expect(flows).toEqual([]);
    expect(bench.items().map((row) => [row.State, row.Failures, row.LeaseUntil])).toEqual([
      ['pending', 0, null],
      ['pending', 0, null],
    ]);
  });

  test('[TRM-4] during a flow lets it finish: nothing is aborted, its lease is renewed, its outcome is stored', async () => {
    const finish = gate();
    const aborted: boolean[] = [];
    const { bench, supervisor, started } = await running(6, async (_, ctx) => {
      await finish.opened;
      aborted.push(ctx.signal.aborted);
    });
    await until(() => started.length === 3, 'three flows run');
    const stop = watch(supervisor.stop({ timeoutMs: 60_000 }));
    await bench.clock.advance(3 * LEASE_MS);
    expect(stop.settled).toBe(false);
    expect(bench.items()[0]!.LeaseUntil).toBeGreaterThan(bench.clock.now());
    finish.open();
    await until(() => stop.settled, 'the stop ends');
    expect(stop.value).toEqual(DRAINED);
    expect(aborted).toEqual([false, false, false]);
    expect(bench.states()).toEqual([
      ...Array<string>(3).fill('completed'),
      ...Array<string>(3).fill('pending'),
    ]);
    expect(bench.clock.pending).toBe(0);
  });

  test('[TRM-4] during a finalization waits for it, and renews until it is through', async () => {
    const bench = await openBench();
    await bench.admitSources(1);
    const held = bench.steered.holdAnswer('finalize');
    const supervisor = bench.supervise(packOf(() => undefined));
    supervisor.start();
    await until(held.arrived, 'an outcome is in flight');
    const stop = watch(supervisor.stop({ timeoutMs: 60_000 }));
    const renewals = bench.steered.count('renew');
    await bench.clock.advance(LEASE_MS);
    expect(stop.settled).toBe(false);
    expect(bench.steered.count('renew')).toBeGreaterThan(renewals);
    held.release();
    await until(() => stop.settled, 'the stop ends');
    expect(stop.value).toEqual(DRAINED);
    expect(bench.states()).toEqual(['completed']);
  });

  test('[EXE-4] at its timeout aborts what runs, and a flow that heeds it is given back, not failed', async () => {
    const { bench, supervisor, started } = await running(1, (_, ctx) => {
      return new Promise((_resolve, reject) => {
        ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason));
      });
    });
    await until(() => started.length === 1, 'the flow runs');
    await turns();
    const stop = watch(supervisor.stop({ timeoutMs: 5_000 }));
    await bench.clock.advance(4_999);
    expect(bench.states()).toEqual(['processing']);
    await bench.clock.advance(1);
    await until(() => stop.settled, 'the stop ends');
    expect(stop.value).toEqual(DRAINED);
    expect(bench.items()).toMatchObject([{ State: 'pending', Failures: 0, LeaseUntil: null }]);
  });

  test('leaves a flow that ignores the abort to its lease, and says so', async () => {
    const { bench, supervisor, started } = await running(1, () => new Promise(() => undefined));
    await until(() => started.length === 1, 'the flow runs');
    const stop = watch(supervisor.stop({ timeoutMs: 5_000 }));
    await bench.clock.advance(5_999);
    expect(stop.settled).toBe(false);
    await bench.clock.advance(1);
    await until(() => stop.settled, 'the stop ends');
    expect(stop.value).toEqual({ drained: false, abandoned: 1 });
    expect(bench.items()).toMatchObject([{ State: 'processing', Attempt: 1, Failures: 0 }]);
    const renewals = bench.steered.count('renew');
    await bench.clock.advance(10 * LEASE_MS);
    expect(bench.steered.count('renew')).toBe(renewals);
  });

  test('gives back what was claimed and never ran when its time is over', async () => {
    const flows: string[] = [];
    const { bench, supervisor, started } = await running(2, (event) => void flows.push(event.id), {
      batchRead: (_, ctx) =>
        new Promise((_resolve, reject) => {
          ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason));
        }),
    });
    await until(() => started.length === 2, 'the batch is being read');
    await turns();
    const stop = watch(supervisor.stop({ timeoutMs: 10 }));
    await bench.clock.advance(10);
    await until(() => stop.settled, 'the stop ends');
    expect(stop.value).toEqual(DRAINED);
    expect(flows).toEqual([]);
    expect(bench.items().map((row) => [row.State, row.Failures])).toEqual([
      ['pending', 0],
      ['pending', 0],
    ]);
  });

  test('[TRM-4] starts no flow whose Event arrives after its time is over', async () => {
    const bench = await openBench();
    await bench.admitSources(2);
    const load = bench.steered.holdAnswer('loadEvents');
    const flows: string[] = [];
    const supervisor = bench.supervise(packOf((event) => void flows.push(event.id)));
    supervisor.start();
    await until(load.arrived, 'the Events are on their way');
    const stop = watch(supervisor.stop({ timeoutMs: 10 }));
    await bench.clock.advance(10);
    load.release();
    await until(() => stop.settled, 'the stop ends');
    expect(stop.value).toEqual(DRAINED);
    expect(flows).toEqual([]);
    expect(bench.items().map((row) => [row.State, row.Failures])).toEqual([
      ['pending', 0],
      ['pending', 0],
    ]);
  });

  test('is bounded while the store is out', async () => {
    const bench = await openBench();
    await bench.admitSources(1);
    for (let failure = 0; failure < 100; failure++) {
      bench.steered.failNext('finalize', new StoreOutage('no connection', 'none'));
      bench.steered.failNext('renew', new StoreOutage('no connection', 'none'));
    }
    const supervisor = bench.supervise(packOf(() => undefined));
    const unreported = record(supervisor.events, 'unreported');
    supervisor.start();
    await until(() => bench.steered.count('finalize') === 1, 'the outcome is refused');
    const stop = watch(supervisor.stop({ timeoutMs: 2_000 }));
    await bench.clock.advance(5_000);
    await until(() => stop.settled, 'the stop ends');
    expect(stop.value).toMatchObject({ drained: false });
    expect(unreported).toHaveLength(1);
  });
});
