import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Random } from '../../src/core/random.js';
import { type RetryPolicy, retryDelayMs } from '../../src/core/retry.js';
import { fuzzOptions } from '../support/fuzz-options.js';

const { seed, runs } = fuzzOptions(2_000);
const parameters = { seed, numRuns: runs };

const MONTH_MS = 30 * 86_400_000;
const drawing = (float: number): Random => ({ float: () => float, bytes: (count) => new Uint8Array(count) });

/** What a pack may say. */
const policy: fc.Arbitrary<RetryPolicy> = fc
  .tuple(fc.integer({ min: 1, max: 1_000_000 }), fc.integer({ min: 1, max: 86_400_000 }), fc.nat(MONTH_MS))
  .map(([attempts, baseMs, more]) => ({ attempts, baseMs, maxMs: Math.min(MONTH_MS, baseMs + more) }));

/** Failures so far, up to more than any row can count. */
const failures = fc.oneof(
  fc.integer({ min: 1, max: 64 }),
  fc.constantFrom(1_023, 1_024, 2 ** 31, Number.MAX_SAFE_INTEGER, Number.POSITIVE_INFINITY),
);
const float = fc.oneof(
  fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  fc.constantFrom(0, 1 - Number.EPSILON / 2),
);

describe('the delay before the next try', () => {
  test('is a whole number of at least 1 ms, and never more than the policy allows', () => {
    fc.assert(
      fc.property(policy, failures, float, (given, count, drawn) => {
        const delayMs = retryDelayMs(given, count, drawing(drawn));
        expect(Number.isSafeInteger(delayMs)).toBe(true);
        expect(delayMs).toBeGreaterThanOrEqual(1);
        expect(delayMs).toBeLessThanOrEqual(given.maxMs);
      }),
      parameters,
    );
  });

  test('doubles with every failure until its bound, half of it certain and half of it drawn', () => {
    fc.assert(
      fc.property(policy, failures, float, (given, count, drawn) => {
        let stepMs = given.baseMs;
        for (let failure = 1; failure < count && stepMs < given.maxMs; failure++) stepMs *= 2;
        stepMs = Math.min(stepMs, given.maxMs);
        const delayMs = retryDelayMs(given, count, drawing(drawn));
        expect(Math.abs(delayMs - (stepMs / 2) * (1 + drawn))).toBeLessThanOrEqual(0.5);
      }),
      parameters,
    );
  });

  test('never shrinks with more failures or a higher draw', () => {
    fc.assert(
      fc.property(policy, failures, failures, float, float, (given, count, other, drawn, otherDrawn) => {
        const delays = [
          retryDelayMs(given, Math.min(count, other), drawing(Math.min(drawn, otherDrawn))),
          retryDelayMs(given, Math.max(count, other), drawing(Math.max(drawn, otherDrawn))),
        ];
        expect(delays[0]).toBeLessThanOrEqual(delays[1]!);
      }),
      parameters,
    );
  });
});
