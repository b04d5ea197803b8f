import { describe, expect, test } from 'vitest';
import { Foreground, SHORT_BATCH } from '../../src/core/foreground.js';
import type { Outcome } from '../../src/core/outcome.js';
import { systemNextTurn, systemRandom } from '../../src/core/system.js';
import { Finalizer } from '../../src/executor/finalizer.js';
import { StoreOutage } from '../../src/store/driver.js';
import type { ClaimedItem, Finalization } from '../../src/store/store.js';
import { claimRequest } from '../conformance/fixture.js';
import { turns, until } from '../support/manual-clock.js';
import { useBench, type WorkBench } from '../support/work-bench.js';

const openBench = useBench();
const COMPLETED: Outcome = { kind: 'completed' };
const GIVE_UP_MS = 9_000;

async function claimed(count: number, foreground?: Pick<Foreground, 'isActive' | 'turn'>) {
  const bench = await openBench();
  await bench.admitSources(count);
  const { items } = await bench.store.claim(claimRequest(bench.installed));
  const finalizer = new Finalizer({
    service: bench.store,
    foreground: foreground ?? new Foreground(bench.clock),
    clock: bench.clock,
    random: systemRandom(),
    nextTurn: systemNextTurn,
    giveUpMs: GIVE_UP_MS,
  });
  return { bench, items, finalizer };
}

const batches = (bench: WorkBench): number[] =>
  bench.steered.calls
    .filter((call) => call.verb === 'finalize')
    .map((call) => (call.args[0] as Finalization[]).length);

const settle = (finalizer: Finalizer, items: readonly ClaimedItem[], outcome = COMPLETED) =>
  items.map((item) => finalizer.finalize(item.lease, outcome));

describe('outcomes', () => {
  test('[EXE-3] of one turn are stored together, and each slot gets its own answer', async () => {
    const { bench, items, finalizer } = await claimed(4);
    const stale = { ...items[3]!.lease, token: 'not the token' };
    const reports = await Promise.all([
      ...settle(finalizer, items.slice(0, 2)),
      finalizer.finalize(items[2]!.lease, { kind: 'skipped', error: { code: 'x', message: 'y' } }),
      finalizer.finalize(stale, COMPLETED),
    ]);
    expect(reports).toEqual([
      { kind: 'applied', state: 'completed', failures: 0 },
      { kind: 'applied', state: 'completed', failures: 0 },
      { kind: 'applied', state: 'skipped', failures: 0 },
      { kind: 'lost' },
    ]);
    expect(batches(bench)).toEqual([4]);
    expect(bench.states()).toEqual(['completed', 'completed', 'skipped', 'processing']);
  });

  test('[ADM-4] while this process admits, batches are short and each begins in its turn', async () => {
    let turnsTaken = 0;
    let go: () => void = () => undefined;
    const turn = () => {
      turnsTaken++;
      return new Promise<void>((resolve) => {
        go = resolve;
      });
    };
    const { bench, items, finalizer } = await claimed(SHORT_BATCH + 2, { isActive: true, turn });
    const reports = settle(finalizer, items);
    await until(() => turnsTaken === 1, 'the first batch asks');
    await turns();
    expect(batches(bench)).toEqual([]);
    go();
    await until(() => turnsTaken === 2, 'the second batch asks');
    expect(batches(bench)).toEqual([SHORT_BATCH]);
    go();
    await Promise.all(reports);
    expect(batches(bench)).toEqual([SHORT_BATCH, 2]);
  });

  test('[EXE-3] of more items than one short transaction takes go together while nothing is admitted', async () => {
    const { bench, items, finalizer } = await claimed(SHORT_BATCH + 2);
    await Promise.all(settle(finalizer, items));
    expect(batches(bench)).toEqual([SHORT_BATCH + 2]);
  });

  test('that come while a batch is in flight make the next batch', async () => {
    const { bench, items, finalizer } = await claimed(5);
    const held = bench.steered.holdAnswer('finalize');
    const first = settle(finalizer, items.slice(0, 1));
    await until(held.arrived, 'the first batch is in flight');
    const rest = settle(finalizer, items.slice(1));
    await turns();
    expect(batches(bench)).toEqual([1]);
    held.release();
    await Promise.all([...first, ...rest]);
    expect(batches(bench)).toEqual([1, 4]);
    expect(finalizer.size).toBe(0);
  });
});

describe('a store that fails', () => {
  test('is offered the same batch again; an answer that was lost is recognized, not refused', async () => {
    const { bench, items, finalizer } = await claimed(2);
    bench.steered.loseAnswer('finalize', new StoreOutage('lost at COMMIT', 'unknown'));
    const reports = settle(finalizer, items);
    await until(() => batches(bench).length === 1, 'the first try failed');
    await bench.clock.advance(50);
    expect(await Promise.all(reports)).toMatchObject([{ state: 'completed' }, { state: 'completed' }]);
    expect(batches(bench)).toEqual([2, 2]);
  });

  test('is given up when the leases would be long lost; later outcomes are stored', async () => {
    const { bench, items, finalizer } = await claimed(2);
    for (let failure = 0; failure < 30; failure++) {
      bench.steered.failNext('finalize', new StoreOutage('no connection', 'none'));
    }
    const [first] = settle(finalizer, items.slice(0, 1));
    await bench.clock.advance(GIVE_UP_MS - 2_000);
    expect(finalizer.size).toBe(1);
    await bench.clock.advance(4_000);
    expect(await first).toMatchObject({ kind: 'unreported' });
    const [second] = settle(finalizer, items.slice(1));
    await bench.clock.advance(60_000);
    expect(await second).toMatchObject({ kind: 'unreported' });
    expect(batches(bench).length).toBeLessThan(30);
  });

  test('[EXE-3] a bug in one item does not keep the others from ending', async () => {
    const { bench, items, finalizer } = await claimed(3);
    const poison: Outcome = { kind: 'failed', error: { code: 'x', message: 'y' }, delayMs: Number.NaN };
    const reports = await Promise.all([
      ...settle(finalizer, [items[0]!, items[2]!]),
      finalizer.finalize(items[1]!.lease, poison),
    ]);
    expect(reports).toMatchObject([{ kind: 'applied' }, { kind: 'applied' }, { kind: 'unreported' }]);
    expect(bench.states()).toEqual(['completed', 'processing', 'completed']);
  });
});

describe('close', () => {
  test('gives up what is not durable and takes no more', async () => {
    const { bench, items, finalizer } = await claimed(2);
    bench.steered.failNext('finalize', new StoreOutage('no connection', 'none'));
    const [first] = settle(finalizer, items.slice(0, 1));
    await until(() => batches(bench).length === 1, 'the first try failed');
    finalizer.close();
    finalizer.close();
    expect(await first).toMatchObject({ kind: 'unreported' });
    expect(await finalizer.finalize(items[1]!.lease, COMPLETED)).toMatchObject({ kind: 'unreported' });
    await bench.clock.advance(60_000);
    expect(batches(bench)).toEqual([1]);
    expect(bench.clock.pending).toBe(0);
  });
});
