import { describe, expect, test } from 'vitest';
import { until } from '../support/manual-clock.js';
import { gate, LEASE_MS, packOf, record, useBench } from '../support/work-bench.js';

const openBench = useBench();

describe('a holder whose lease was taken over', () => {
  test('[OWN-5] event loop blocked for twice the lease, then finish: stale token refused, one completion', async () => {
    const bench = await openBench();
    await bench.admitSources(1);
    const finish = gate();
    const slow = bench.supervise(
      packOf(() => finish.opened),
      { holder: 'slow' },
    );
    const lost = record(slow.events, 'lost');
    const slowFinished = record(slow.events, 'finished');
    const slowStarted = record(slow.events, 'started');
    slow.start();
    await until(() => slowStarted.length === 1, 'the slow process runs the item');

    // No timer fires here and no lease is renewed: this is what a blocked event loop looks like.
    bench.clock.jump(2 * LEASE_MS);
    const quick = bench.supervise(
      packOf(() => undefined),
      { holder: 'quick', store: bench.openBeside() },
    );
    const quickFinished = record(quick.events, 'finished');
    quick.start();
    await until(() => quickFinished.length === 1, 'the quick process has taken it over and completed it');

    finish.open();
    await until(() => lost.length === 1, 'the slow process is refused');
    expect(slowFinished).toEqual([]);
    expect(lost[0]).toMatchObject({ outcome: { kind: 'completed' }, item: { attempt: 1 } });
    expect(bench.items()).toMatchObject([
      { State: 'completed', Attempt: 2, Failures: 1, OwnershipEpoch: 2, LastErrorCode: 'lease_expired' },
    ]);
  });

  test('[OWN-5] sees its signal abort as soon as the store says that the lease is gone', async () => {
    const bench = await openBench();
    await bench.admitSources(1);
    const reasons: unknown[] = [];
    const supervisor = bench.supervise(
      packOf(async (_, ctx) => {
        await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve));
        reasons.push(ctx.signal.reason.message);
      }),
    );
    const lost = record(supervisor.events, 'lost');
    const started = record(supervisor.events, 'started');
    supervisor.start();
    await until(() => started.length === 1, 'the item runs');
    bench.sql("UPDATE _System_ConnectorWorkItem SET LeaseToken = 'other', OwnershipEpoch = 2");
    await bench.clock.advance(LEASE_MS / 3);
    expect(reasons).toEqual(['the lease is lost or about to end']);
    expect(lost).toHaveLength(1);
    expect(bench.states()).toEqual(['processing']);
  });

  test('[EXE-4] an item that outlives its process ends dead after its budget of takeovers', async () => {
    const bench = await openBench();
    await bench.admit({ events: [{ budget: 2 }] });
    for (let death = 0; death < 2; death++) {
      const store = bench.openBeside();
      const doomed = bench.supervise(
        packOf(() => new Promise(() => undefined)),
        { store },
      );
      const started = record(doomed.events, 'started');
      doomed.start();
      await until(() => started.length === 1, 'the item runs');
      await store.close();
      bench.clock.jump(2 * LEASE_MS);
    }
    bench.supervise(packOf(() => undefined)).start();
    await bench.untilStates('dead');
    expect(bench.items()[0]).toMatchObject({ Attempt: 2, Failures: 2, LastErrorCode: 'lease_expired' });
  });
});
