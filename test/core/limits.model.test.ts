import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { arrivalAfter, msToNextStart, type RateLimit, startsLeft } from '../../src/core/limits.js';
import { fuzzOptions } from '../support/fuzz-options.js';

const { seed, runs } = fuzzOptions(200);
const parameters = { seed, numRuns: runs };

const rates: fc.Arbitrary<RateLimit> = fc
  .record({
    count: fc.integer({ min: 1, max: 50 }),
    perMs: fc.integer({ min: 1, max: 10_000 }),
    part: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  .map(({ count, perMs, part }) => ({ count, perMs, burst: Math.max(1, Math.round(count * part)) }));

/** When somebody comes who wants so many starts, milliseconds after the one before. */
const visits = fc.array(fc.tuple(fc.nat(500), fc.integer({ min: 1, max: 60 })), {
  minLength: 1,
  maxLength: 60,
});

/** Times of all starts, each visitor taking what is left. */
function starts(rate: RateLimit, comings: readonly (readonly [number, number])[]): number[] {
  const times: number[] = [];
  let [now, arrival] = [1_700_000_000_000, 0];
  for (const [laterMs, wanted] of comings) {
    now += laterMs;
    const taken = Math.min(wanted, startsLeft(rate, arrival, now));
    if (taken > 0) arrival = arrivalAfter(rate, arrival, now, taken);
    times.push(...Array.from({ length: taken }, () => now));
  }
  return times;
}

describe('[LIM-1] a rate', () => {
  test('any span of perMs sees less than count + burst starts, and any longer one no more than its share', () => {
    fc.assert(
      fc.property(rates, visits, (rate, comings) => {
        const times = starts(rate, comings);
        for (const [first, from] of times.entries()) {
          for (let last = first; last < times.length; last++) {
            const spanMs = times[last]! - from;
            const most = rate.burst + (spanMs * rate.count) / rate.perMs;
            expect(last - first + 1).toBeLessThanOrEqual(most + 1e-6);
          }
        }
      }),
      parameters,
    );
  });

  test('is not stingy: who comes exactly when the next start is announced gets one, and a millisecond before none', () => {
    fc.assert(
      fc.property(rates, visits, (rate, comings) => {
        let [now, arrival] = [1_700_000_000_000, 0];
        for (const [laterMs] of comings) {
          now += laterMs;
          const waitMs = msToNextStart(rate, arrival, now);
          if (waitMs > 0) expect(startsLeft(rate, arrival, now + waitMs - 1)).toBe(0);
          now += waitMs;
          expect(startsLeft(rate, arrival, now)).toBeGreaterThanOrEqual(1);
          arrival = arrivalAfter(rate, arrival, now, 1);
        }
      }),
      parameters,
    );
  });

  test('a clock that went back, or a rate that was slower, delays by a full burst at most', () => {
    fc.assert(
      fc.property(rates, fc.integer({ min: 0, max: 1e9 }), (rate, backMs) => {
        const now = 1_700_000_000_000;
        const arrival = arrivalAfter(rate, 0, now + backMs, rate.burst);
        const waitMs = msToNextStart(rate, arrival, now);
        expect(waitMs).toBeLessThanOrEqual(Math.ceil(rate.perMs / rate.count));
        const then = arrivalAfter(rate, arrival, now + waitMs, 1);
        expect(msToNextStart(rate, then, now + waitMs)).toBeLessThanOrEqual(
          Math.ceil(rate.perMs / rate.count),
        );
      }),
      parameters,
    );
  });

  test('over a long time it lets through what it promises', () => {
    const rate: RateLimit = { count: 7, perMs: 1_000, burst: 2 };
    const everyMs = Array.from({ length: 60_000 }, () => [1, 60] as const);
    // A burst in the first millisecond, and its share of the 59.999 seconds after it.
    expect(starts(rate, everyMs)).toHaveLength(2 + 419);
  });
});
