import { describe, expect, test } from 'vitest';
import type { ClaimRequest } from '../../src/store/store.js';
import { turns, until } from '../support/manual-clock.js';
import { gate, packOf, record, useBench } from '../support/work-bench.js';

const openBench = useBench();

describe('a new incarnation', () => {
  test('[SCH-2] scans only after the last scan of the old one, whose executors drain beside it', async () => {
    const bench = await openBench();
    await bench.admit({ events: [{ source: 'a' }] });
    const finishOld = gate();
    const ran: string[] = [];
    const supervisor = bench.supervise(
      packOf(async (event) => {
        ran.push(`old ${event.sourceKey}`);
        await finishOld.opened;
      }),
    );
    const finished = record(supervisor.events, 'finished');
    supervisor.start();
    await until(() => ran.length === 1, 'the old flow runs');

    const [installed] = await bench.store.installPacks([
      { namespace: 'acme', pack: 'bench', version: '2.0.0' },
    ]);
    const lastScan = bench.steered.holdAnswer('peek');
    await bench.clock.advance(1_000);
    await until(lastScan.arrived, 'the old scheduler is in the middle of a look');
    const scans = bench.steered.count('claim');
    let replaced = false;
    const next = packOf((event) => void ran.push(`new ${event.sourceKey}`), {}, '2.0.0');
    const replacing = supervisor.reconcile([{ pack: next, installed: installed! }]).then(() => {
      replaced = true;
    });
    await bench.admit({ events: [{ source: 'a' }, { source: 'b' }] });
    supervisor.wake();
    await turns();
    expect(replaced).toBe(false);
    expect(bench.steered.count('claim')).toBe(scans);

    lastScan.release();
    await replacing;
    await until(() => ran.includes('new b'), 'the new one runs what is free');
    expect(ran).toEqual(['old a', 'new b']);
    finishOld.open();
    await until(() => finished.length === 2, 'the old flow ends');
    supervisor.wake();
    await bench.untilStates('completed', 'completed', 'completed');
    expect(ran).toEqual(['old a', 'new b', 'new a']);
    expect(bench.steered.mostScans).toBe(1);
    const generations = bench.steered.calls
      .filter((call) => call.verb === 'claim')
      .map((call) => (call.args[0] as ClaimRequest).generation);
    expect(generations).toEqual([...generations].sort());
    expect(new Set(generations)).toEqual(new Set([1, 2]));
  });

  test('that comes while the process stops is not taken into service', async () => {
    const bench = await openBench();
    const supervisor = bench.supervise(packOf(() => undefined));
    supervisor.start();
    await until(() => supervisor.isIdle, 'the scheduler rests');
    const stop = supervisor.stop({ timeoutMs: 1_000 });
    const next = packOf(() => undefined);
    await supervisor.reconcile([{ pack: next, installed: { ...bench.installed, generation: 2 } }]);
    await stop;
    const calls = bench.steered.calls.length;
    await bench.clock.advance(10_000);
    expect(bench.steered.calls).toHaveLength(calls);
  });

  test('that comes before start is the one that starts', async () => {
    const bench = await openBench();
    await bench.admitSources(1);
    const ran: string[] = [];
    const supervisor = bench.supervise(packOf(() => void ran.push('old')));
    const next = packOf(() => void ran.push('new'));
    await supervisor.reconcile([{ pack: next, installed: bench.installed }]);
    supervisor.start();
    await bench.untilStates('completed');
    expect(ran).toEqual(['new']);
  });
});
