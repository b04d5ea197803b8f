/** Every order of start, reconciles, work and stop, none of them awaited: what is left is what was wanted last. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { SupervisedPack, Supervisor } from '../../src/supervisor/supervisor.js';
import { fuzzOptions } from '../support/fuzz-options.js';
import { turns, until } from '../support/manual-clock.js';
import { packOf, useBench, type WorkBench } from '../support/work-bench.js';

const openBench = useBench();
const { seed, runs } = fuzzOptions(60);
const DEFINITIONS = [packOf(() => undefined), packOf(async () => await turns(2))];
const STATES = ['gone', 'paused', 'first definition', 'second definition', 'next incarnation'] as const;
type Wanted = (typeof STATES)[number];
type Step = { readonly want: Wanted } | 'start' | 'stop' | 'work' | 'time' | 'turns';

function supervised({ installed }: WorkBench, wanted: Wanted): SupervisedPack[] {
  const [first, second] = DEFINITIONS as [SupervisedPack['pack'], SupervisedPack['pack']];
  switch (wanted) {
    case 'gone':
      return [];
    case 'paused':
      return [{ pack: first, installed: { ...installed, status: 'paused' } }];
    case 'first definition':
      return [{ pack: first, installed }];
    case 'second definition':
      return [{ pack: second, installed }];
    case 'next incarnation':
      return [{ pack: second, installed: { ...installed, generation: 2 } }];
  }
}

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom(...STATES).map((want) => ({ want })) },
    { weight: 5, arbitrary: fc.constantFrom('work' as const, 'time' as const, 'turns' as const) },
    { weight: 1, arbitrary: fc.constantFrom('start' as const, 'stop' as const) },
  ),
  { maxLength: 20 },
);

class Session {
  readonly bench: WorkBench;
  readonly supervisor: Supervisor;
  readonly changes: Promise<unknown>[] = [];
  wanted: Wanted = 'first definition';
  started = false;
  stopped = false;

  constructor(bench: WorkBench) {
    this.bench = bench;
    this.supervisor = bench.supervise(DEFINITIONS[0]!, { packs: supervised(bench, this.wanted) });
  }

  async take(step: Step): Promise<void> {
    if (typeof step === 'object') {
      this.wanted = step.want;
      this.changes.push(this.supervisor.reconcile(supervised(this.bench, step.want)));
    } else if (step === 'start') {
      this.started ||= !this.stopped;
      this.supervisor.start();
    } else if (step === 'stop') {
      this.stopped = true;
      this.changes.push(this.supervisor.stop({ timeoutMs: 60_000 }));
    } else if (step === 'work') {
      await this.bench.admitSources(3);
      this.supervisor.wake();
    } else if (step === 'time') await this.bench.clock.advance(1_000);
    else await turns(1);
  }

  get isServed(): boolean {
    return this.started && !this.stopped && this.wanted !== 'gone' && this.wanted !== 'paused';
  }
}

test('[SCH-2, SCH-5] in every order there is one scanner at most, and in the end the one that is wanted', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (order) => {
      const session = new Session(await openBench());
      const { bench, supervisor } = session;
      for (const step of order) await session.take(step);
      await Promise.all(session.changes);
      await session.take('work');
      await bench.clock.advance(5_000);
      expect(bench.steered.mostScans).toBeLessThanOrEqual(1);
      if (session.isServed) {
        await until(() => bench.states().every((state) => state === 'completed'), 'all work is done');
        expect([...supervisor.pools.values()].map(({ isRunning }) => isRunning)).toEqual([true]);
      }
      await session.take('stop');
      await Promise.all(session.changes);
      expect(bench.states()).not.toContain('processing');
      expect(bench.clock.pending).toBe(0);
      const calls = bench.steered.calls.length;
      await session.take({ want: 'second definition' });
      await bench.clock.advance(60_000);
      expect(bench.steered.calls).toHaveLength(calls);
    }),
    { seed, numRuns: runs },
  );
}, 240_000);
