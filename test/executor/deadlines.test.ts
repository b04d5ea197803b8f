import { describe, expect, test } from 'vitest';
import { until } from '../support/manual-clock.js';
import { type Flow, gate, LEASE_MS, packOf, record, useBench } from '../support/work-bench.js';

const openBench = useBench();
const DEADLINE_MS = 10_000;

async function running(flow: Flow, route: Parameters<typeof packOf>[1] = {}, leaseMs = LEASE_MS) {
  const bench = await openBench();
  await bench.admitSources(1);
  const settings = { flowDeadlineMs: DEADLINE_MS, leaseMs };
  const supervisor = bench.supervise(packOf(flow, route), { settings });
  const abandoned = record(supervisor.events, 'abandoned');
  const finished = record(supervisor.events, 'finished');
  const started = record(supervisor.events, 'started');
  supervisor.start();
  await until(() => started.length === 1, 'the item starts');
  await bench.clock.advance(0);
  return { bench, supervisor, abandoned, finished };
}

/** Resolves never, rejects when the signal aborts. */
const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
  });

describe('a flow beyond its deadline', () => {
  test('[EXE-5] [FLG-5] is aborted at the deadline, not before, and fails as flow_deadline', async () => {
    const { bench, finished } = await running((_, ctx) => untilAborted(ctx.signal));
    await bench.clock.advance(DEADLINE_MS - 1);
    expect(finished).toHaveLength(0);
    await bench.clock.advance(1);
    expect(finished).toHaveLength(1);
    expect(bench.items()[0]).toMatchObject({ State: 'pending', Failures: 1, LastErrorCode: 'flow_deadline' });
  });

  test('[EXE-5] completes if it returns all the same', async () => {
    const { bench } = await running(async (_, ctx) => {
      await untilAborted(ctx.signal).catch(() => undefined);
    });
    await bench.clock.advance(DEADLINE_MS);
    expect(bench.states()).toEqual(['completed']);
  });

  test('[EXE-5] may still decide: a verdict given after the abort stands', async () => {
    const { bench } = await running(async (_, ctx) => {
      await untilAborted(ctx.signal).catch(() => ctx.skip('too slow to matter'));
    });
    await bench.clock.advance(DEADLINE_MS);
    expect(bench.states()).toEqual(['skipped']);
  });

  test('[EXE-5] keeps slot, lane and lease while it ignores the abort, then is abandoned; what it does later is ignored', async () => {
    const late = gate();
    const { bench, supervisor, abandoned, finished } = await running(() => late.opened);
    await bench.clock.advance(2 * DEADLINE_MS - 1);
    expect(finished).toHaveLength(0);
    expect(bench.items()[0]).toMatchObject({ State: 'processing', Attempt: 1 });
    expect(bench.items()[0]!.LeaseUntil).toBeGreaterThan(bench.clock.now());
    await bench.clock.advance(1);
    expect(abandoned).toMatchObject([{ stage: 'flow' }]);
    expect(bench.items()[0]).toMatchObject({ State: 'pending', Failures: 1, LastErrorCode: 'flow_deadline' });
    late.open();
    await bench.clock.advance(0);
    expect(bench.states()).toEqual(['pending']);
    expect(finished).toHaveLength(1);
    expect(await supervisor.stop({ timeoutMs: 1 })).toEqual({ drained: true, abandoned: 0 });
  });

  test('[EXE-5] is told of an abort that came before it looked', async () => {
    const go = gate();
    const seen: boolean[] = [];
    const { bench } = await running(async (_, ctx) => {
      await go.opened;
      seen.push(ctx.signal.aborted);
    });
    await bench.clock.advance(DEADLINE_MS);
    go.open();
    await bench.untilStates('completed');
    expect(seen).toEqual([true]);
  });

  test('[EXE-5] after a blocked event loop still has its time to react', async () => {
    const cleanUp = gate();
    const flow: Flow = async (_, ctx) => {
      await untilAborted(ctx.signal).catch(() => cleanUp.opened);
    };
    const { bench, abandoned } = await running(flow, {}, 20 * DEADLINE_MS);
    bench.clock.jump(3 * DEADLINE_MS);
    await bench.clock.advance(DEADLINE_MS - 1);
    expect(abandoned).toHaveLength(0);
    cleanUp.open();
    await bench.untilStates('completed');
  });
});

describe('a batch read beyond its deadline', () => {
  test('[EXE-5] fails its items as flow_deadline, and the flow never runs', async () => {
    const flows: string[] = [];
    const { bench } = await running((event) => void flows.push(event.id), {
      batchRead: (_, ctx) => untilAborted(ctx.signal),
    });
    await bench.clock.advance(DEADLINE_MS);
    expect(bench.items()[0]).toMatchObject({ State: 'pending', Failures: 1, LastErrorCode: 'flow_deadline' });
    expect(flows).toEqual([]);
  });

  test('[EXE-5] is abandoned like a flow', async () => {
    const { bench, abandoned } = await running(() => undefined, {
      batchRead: () => new Promise(() => undefined),
    });
    await bench.clock.advance(2 * DEADLINE_MS);
    expect(abandoned).toMatchObject([{ stage: 'batchRead' }]);
    expect(bench.items()[0]).toMatchObject({ State: 'pending', Failures: 1, LastErrorCode: 'flow_deadline' });
  });
});

describe('a lease that is about to end', () => {
  test('[OWN-5] aborts the signal before it ends, and costs the item no failure', async () => {
    const { bench } = await running((_, ctx) => untilAborted(ctx.signal));
    bench.steered.failNext('renew', new Error('renewals fail'));
    for (let failure = 0; failure < 20; failure++)
      bench.steered.failNext('renew', new Error('renewals fail'));
    await bench.clock.advance((LEASE_MS * 5) / 6 - 1);
    expect(bench.items()[0]).toMatchObject({ State: 'processing', Attempt: 1 });
    await bench.clock.advance(1);
    const [row] = bench.items();
    expect(row).toMatchObject({ Failures: 0, LastErrorCode: null });
    expect(row!.Attempt).toBe(2);
  });

  test('[TRM-4] is renewed while the flow runs, for as long as it may', async () => {
    const done = gate();
    const { bench } = await running(() => done.opened);
    await bench.clock.advance(DEADLINE_MS - 1);
    const renewals = bench.steered.count('renew');
    expect(renewals).toBeGreaterThanOrEqual(6);
    expect(renewals).toBeLessThanOrEqual(12);
    done.open();
    await bench.untilStates('completed');
    await bench.clock.advance(DEADLINE_MS);
    expect(bench.steered.count('renew')).toBe(renewals);
  });
});
