import { describe, expect, test } from 'vitest';
import { QUEUE_CLASSES } from '../../src/core/work.js';
import type { ClaimRequest } from '../../src/store/store.js';
import { until } from '../support/manual-clock.js';
import { gate, packOf, record, useBench } from '../support/work-bench.js';

const openBench = useBench();

/** Events in several sources, in rounds: the order of each source is the order of rounds. */
function rounds(sources: number, count: number) {
  return Array.from({ length: count }, (_, round) => ({
    delivery: `round-${round}`,
    events: Array.from({ length: sources }, (__, n) => ({ source: `s${n}`, payload: `${round}` })),
  }));
}

describe('draining', () => {
  test.each([1, 4, 32])(
    '[SCH-6] [OWN-2] %d slots run every item once, each source in order',
    async (workersPerPack) => {
      const bench = await openBench();
      await bench.admit(...rounds(7, 9));
      const started = new Map<string, number[]>();
      const pack = packOf(async (event) => {
        const order = started.get(event.sourceKey) ?? [];
        started.set(event.sourceKey, [...order, Number(event.json())]);
      });
      const supervisor = bench.supervise(pack, { settings: { workersPerPack } });
      const finished = record(supervisor.events, 'finished');
      supervisor.start();
      await until(() => finished.length === 63 && supervisor.isIdle, 'all is done');
      expect(bench.states().every((state) => state === 'completed')).toBe(true);
      for (const order of started.values()) expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
      expect(started.size).toBe(7);
      expect(bench.steered.mostScans).toBe(1);
    },
  );

  test('[EXE-4] limit 3, always failing: exactly three runs, then dead, and its lane goes on', async () => {
    const bench = await openBench();
    await bench.admit({
      events: [
        { source: 'a', payload: '"bad"', budget: 3 },
        { source: 'a', payload: '"good"' },
      ],
    });
    const runs: unknown[] = [];
    const pack = packOf(
      (event) => {
        runs.push(event.json());
        if (event.json() === 'bad') throw new Error('always');
      },
      { retry: { attempts: 3, baseMs: 1_000, maxMs: 1_000 } },
    );
    bench.supervise(pack).start();
    await bench.clock.advance(10_000);
    expect(runs).toEqual(['bad', 'bad', 'bad', 'good']);
    expect(bench.states()).toEqual(['dead', 'completed']);
    expect(bench.items()[0]).toMatchObject({ Attempt: 3, Failures: 3, LastErrorCode: 'flow_error' });
  });

  test('a retry runs when it is due, without a poll at its ceiling in between', async () => {
    const bench = await openBench();
    await bench.admitSources(1);
    const at: number[] = [];
    const pack = packOf((_, ctx) => {
      at.push(bench.clock.monotonic());
      if (ctx.attempt < 3) ctx.retryAfter(150);
    });
    bench.supervise(pack).start();
    await bench.clock.advance(1_000);
    expect(at).toEqual([0, 150, 300]);
  });

  test('[SCH-4] [SCH-8] two processes on one store: every item runs once, by one of them', async () => {
    const bench = await openBench();
    await bench.admit(...rounds(10, 4));
    const runs: string[] = [];
    const pack = packOf(async (event) => {
      runs.push(event.id);
      await Promise.resolve();
    });
    const first = bench.supervise(pack, { holder: 'one' });
    const second = bench.supervise(pack, { holder: 'two', store: bench.openBeside() });
    const byFirst = record(first.events, 'finished');
    const bySecond = record(second.events, 'finished');
    first.start();
    second.start();
    await until(() => byFirst.length + bySecond.length === 40, 'all is done');
    expect(new Set(runs).size).toBe(40);
    expect(runs).toHaveLength(40);
    expect(byFirst.length).toBeGreaterThan(0);
    expect(bySecond.length).toBeGreaterThan(0);
  });

  test('[FLG-2] [DRN-1] the processing budget bounds what runs, not the slots', async () => {
    const bench = await openBench();
    await bench.admitSources(20);
    const go = gate();
    let running = 0;
    let most = 0;
    const pack = packOf(async () => {
      most = Math.max(most, ++running);
      await go.opened;
      running--;
    });
    const supervisor = bench.supervise(pack, { settings: { workersPerPack: 16, maxProcessingRows: 5 } });
    const finished = record(supervisor.events, 'finished');
    supervisor.start();
    await until(() => running === 5, 'the budget is used');
    await bench.clock.advance(2_000);
    expect(running).toBe(5);
    go.open();
    await until(() => finished.length === 20, 'all is done');
    expect(most).toBe(5);
  });

  test.each([1, 32])(
    '[DRN-1] [DRN-2] without a setting the budget is the same for any number of slots: %d',
    async (workersPerPack) => {
      const bench = await openBench();
      const supervisor = bench.supervise(
        packOf(() => undefined),
        { settings: { workersPerPack } },
      );
      supervisor.start();
      await until(() => bench.steered.count('claim') > 0, 'a claim was sent');
      const claims = bench.steered.calls.filter(({ verb }) => verb === 'claim');
      const budgets = claims.map(({ args: [request] }) => (request as ClaimRequest).processingBudget);
      expect(new Set(budgets)).toEqual(new Set([256]));
    },
  );

  test('[FLG-1] more slots than the conservative default are kept, and logged as unsafe', async () => {
    const bench = await openBench();
    await bench.admitSources(12, QUEUE_CLASSES);
    const go = gate();
    let running = 0;
    const pack = packOf(async () => {
      running++;
      await go.opened;
    });
    bench.supervise(pack, { settings: { workersPerPack: 9 } }).start();
    await until(() => running === 9, 'nine run');
    await bench.clock.advance(1_000);
    expect(running).toBe(9);
    expect(bench.log.lines).toContainEqual({
      level: 'warn',
      message: 'workersPerPack is above the conservative default: unsafe until proven here',
      fields: expect.objectContaining({ workersPerPack: 9, conservative: 4, watch: expect.any(String) }),
    });
    go.open();
  });

  test('[FLG-1] the default is four slots, and nothing is said about it', async () => {
    const bench = await openBench();
    await bench.admitSources(6, QUEUE_CLASSES);
    const go = gate();
    let running = 0;
    const pack = packOf(async () => {
      running++;
      await go.opened;
    });
    bench.supervise(pack).start();
    await until(() => running === 4, 'four run');
    await bench.clock.advance(1_000);
    expect(running).toBe(4);
    expect(bench.log.lines.filter((line) => line.level === 'warn')).toEqual([]);
    go.open();
  });

  test('a listener that throws does not break the work', async () => {
    const bench = await openBench();
    await bench.admitSources(3);
    const supervisor = bench.supervise(packOf(() => undefined));
    for (const name of ['scanned', 'claimed', 'started', 'finished'] as const) {
      supervisor.events.on(name, () => {
        throw new Error('a bad listener');
      });
    }
    supervisor.start();
    await bench.untilStates('completed', 'completed', 'completed');
    expect(bench.log.lines.some((line) => line.message === 'a work listener failed')).toBe(true);
  });
});

describe('configuration', () => {
  test('[SVC-3] a service that does not honour work types is refused', async () => {
    const bench = await openBench();
    const store = { ...bench.store, honorsClaimWorkTypes: () => false };
    expect(() =>
      bench.supervise(
        packOf(() => undefined),
        { store },
      ),
    ).toThrow('claimWorkTypes');
  });

  test('every wrong setting is named at once', async () => {
    const bench = await openBench();
    const settings = {
      workersPerPack: 0,
      maxProcessingRows: 1.5,
      leaseMs: Number.NaN,
      flowDeadlineMs: 100,
      abandonMs: 50,
      poll: { minMs: 10, maxMs: 5 },
    };
    expect(() =>
      bench.supervise(
        packOf(() => undefined),
        { settings },
      ),
    ).toThrow(/workersPerPack.*maxProcessingRows.*leaseMs.*abandonMs.*poll/);
  });
});
