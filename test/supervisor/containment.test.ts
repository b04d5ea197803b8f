import { describe, expect, test } from 'vitest';
import type { Pack, Route } from '../../src/packs/types.js';
import { turns, until } from '../support/manual-clock.js';
import { packOf, record, useBench } from '../support/work-bench.js';

const openBench = useBench();

/** A pack with a fault no check of ours foresees: its retry policy throws when a delay is computed. */
function faultyPack(): Pack {
  const pack = packOf((event) => {
    if (event.sourceKey === 'bad') throw new Error('leads to the policy');
  });
  const route: Route = {
    ...pack.routes.get('events')!,
    retry: {
      attempts: 8,
      baseMs: 1_000,
      get maxMs(): never {
        throw new TypeError('no policy');
      },
    },
  };
  return { ...pack, routes: new Map([['events', route]]) };
}

describe('an exception that leaves the executor', () => {
  test('[SUP-6] fails its item, its slot comes back after a rest, and no second scanner appears', async () => {
    const bench = await openBench();
    await bench.admit({ events: [{ source: 'bad' }, { source: 'good' }] });
    const supervisor = bench.supervise(faultyPack(), { settings: { workersPerPack: 1 } });
    const crashes = record(supervisor.events, 'slotCrashed');
    supervisor.start();
    await until(() => crashes.length === 1, 'the slot crashes');
    await turns();
    expect(bench.states()).toEqual(['pending', 'pending']);
    expect(crashes).toMatchObject([{ error: new TypeError('no policy') }]);
    expect(bench.items()[0]).toMatchObject({
      Failures: 1,
      LastErrorCode: 'executor_crash',
      LastError: 'TypeError: no policy',
    });
    await bench.clock.advance(crashes[0]!.restartInMs);
    expect(bench.states()).toEqual(['pending', 'completed']);
    expect(bench.steered.mostScans).toBe(1);
  });

  test('[SUP-6] cannot crash slots for ever: the item ends dead, the rest longer each time', async () => {
    const bench = await openBench();
    await bench.admit({ events: [{ source: 'bad', budget: 3 }] });
    const supervisor = bench.supervise(faultyPack(), { settings: { workersPerPack: 1 } });
    const crashes = record(supervisor.events, 'slotCrashed');
    supervisor.start();
    await bench.clock.advance(60_000);
    expect(bench.states()).toEqual(['dead']);
    expect(crashes).toHaveLength(3);
    expect(crashes[2]!.restartInMs).toBeGreaterThan(crashes[0]!.restartInMs);
  });

  test('[SUP-6] leaves the other slots alone', async () => {
    const bench = await openBench();
    await bench.admit({
      events: [{ source: 'bad' }, ...Array.from({ length: 9 }, (_, n) => ({ source: `s${n}` }))],
    });
    const supervisor = bench.supervise(faultyPack(), { settings: { workersPerPack: 2 } });
    supervisor.start();
    await bench.untilStates('pending', ...Array<string>(9).fill('completed'));
  });
});

describe('readiness marks', () => {
  test('a mark that was lost is found by the sweep, and its item runs', async () => {
    const bench = await openBench();
    await bench.admitSources(1);
    bench.sql('UPDATE _System_ConnectorWorkItem SET Readiness = 0');
    const supervisor = bench.supervise(
      packOf(() => undefined),
      { settings: { repairEveryMs: 5_000 } },
    );
    const repaired = record(supervisor.events, 'repaired');
    supervisor.start();
    await bench.clock.advance(4_999);
    expect(bench.states()).toEqual(['pending']);
    await bench.clock.advance(1);
    await bench.untilStates('completed');
    expect(repaired).toEqual([{ packId: bench.installed.packId, marks: 1 }]);
  });

  test('a sweep that fails is tried again', async () => {
    const bench = await openBench();
    await bench.admitSources(1);
    bench.sql('UPDATE _System_ConnectorWorkItem SET Readiness = 0');
    bench.steered.failNext('repairReadiness', new Error('not now'));
    bench
      .supervise(
        packOf(() => undefined),
        { settings: { repairEveryMs: 5_000 } },
      )
      .start();
    await bench.clock.advance(5_000);
    expect(bench.states()).toEqual(['pending']);
    await bench.clock.advance(5_000);
    await until(() => bench.states()[0] === 'completed', 'the item runs');
  });
});
