import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Contention, DuplicateKey, StoreOutage } from '../../src/store/driver.js';
import { type RetryBudget, retrying } from '../../src/store/retrying.js';
import { fuzzOptions } from '../support/fuzz-options.js';
import { clockThatSleeps } from '../support/sleeping-clock.js';

const { seed, runs } = fuzzOptions(2_000);

const FAILURES = {
  contention: () => new Contention('deadlock'),
  duplicate: () => new DuplicateKey(),
  outage: () => new StoreOutage('refused', 'none'),
  'lost commit': () => new StoreOutage('cut at COMMIT', 'unknown'),
  bug: () => new TypeError('bug'),
} as const;
type Failure = keyof typeof FAILURES;

const budget: fc.Arbitrary<RetryBudget> = fc
  .tuple(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 50 }), fc.nat(500))
  .map(([attempts, baseMs, more]) => ({ attempts, baseMs, maxMs: baseMs + more }));
const failures = fc.array(
  fc.constantFrom<Failure>(
    'contention',
    'contention',
    'contention',
    'duplicate',
    'outage',
    'lost commit',
    'bug',
  ),
  { maxLength: 50 },
);

/** In words: contention is tried again up to the budget; an outage at once ends it, but three tries follow a lost COMMIT. */
function expected(fates: readonly Failure[], { attempts }: RetryBudget): { tries: number; end: string } {
  for (let tries = 1; ; tries++) {
    const failure = fates[tries - 1];
    const mayBeDone = fates.slice(0, tries).includes('lost commit');
    if (failure === undefined) return { tries, end: 'answered' };
    if (failure === 'bug') return { tries, end: 'bug' };
    const isOutage = failure === 'outage' || failure === 'lost commit';
    const goesOn = isOutage ? mayBeDone && tries < 3 : tries < attempts;
    if (!goesOn) return { tries, end: mayBeDone ? 'unknown' : 'none' };
  }
}

test('a transaction is tried as often as its failures deserve, and what may be done is never called undone', async () => {
  await fc.assert(
    fc.asyncProperty(
      failures,
      budget,
      fc.double({ min: 0, max: 0.999, noNaN: true }),
      async (fates, given, drawn) => {
        let tries = 0;
        const { clock, sleeps } = clockThatSleeps();
        const random = { float: () => drawn, bytes: (count: number) => new Uint8Array(count) };
        const attempt = async (number: number): Promise<string> => {
          expect(number).toBe(++tries);
          const failure = fates[number - 1];
          if (failure !== undefined) throw FAILURES[failure]();
          return 'answered';
        };
        const end = await retrying(clock, random, attempt, given).catch((error: unknown) =>
          error instanceof StoreOutage ? error.outcome : (error as Error).message,
        );
        expect({ tries, end }).toEqual(expected(fates, given));
        expect(sleeps).toHaveLength(tries - 1);
        for (const sleepMs of sleeps) {
          expect(sleepMs).toBeGreaterThanOrEqual(given.baseMs / 2);
          expect(sleepMs).toBeLessThanOrEqual(given.maxMs);
        }
      },
    ),
    { seed, numRuns: runs },
  );
});
