import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SHORT_BATCH } from '../../src/core/foreground.js';
import { ClaimLimiter, DEFAULT_PRESSURE, PROBES, type Probe } from '../../src/scheduler/claim-limiter.js';
import type { PressureReading } from '../../src/scheduler/pressure-gauge.js';
import type { StorePressure } from '../../src/store/store.js';
import { ManualClock } from '../support/manual-clock.js';

const NONE: StorePressure = { poolWaitMs: 0, statementMs: 0, inboxDepth: 0, walBytes: 0 };

/** `share` of the way from the soft limit to the hard one. */
function pressed(probe: Probe, share: number): StorePressure {
  const { soft, hard } = DEFAULT_PRESSURE[probe];
  return { ...NONE, [probe]: soft + share * (hard - soft) };
}

function limiterOf(reading: PressureReading, clock = new ManualClock()): ClaimLimiter {
  return new ClaimLimiter({ limits: DEFAULT_PRESSURE, read: () => reading, isAdmitting: () => false, clock });
}

const whileAdmitting = (reading: PressureReading): ClaimLimiter =>
  new ClaimLimiter({
    limits: DEFAULT_PRESSURE,
    read: () => reading,
    isAdmitting: () => true,
    clock: new ManualClock(),
  });

describe('the claim limiter', () => {
  test('[PRS-2] [MET-3] grants what was asked for while nothing is pressed, also where a probe does not exist', () => {
    const all = { kind: 'granted', probe: null, maxClaims: 16, restMs: 0 };
    expect(limiterOf(NONE).decide(16)).toEqual(all);
    expect(limiterOf({ ...NONE, poolWaitMs: null, inboxDepth: null, walBytes: null }).decide(16)).toEqual(
      all,
    );
    for (const probe of PROBES) expect(limiterOf(pressed(probe, 0)).decide(16)).toEqual(all);
  });

  test.each(PROBES)(
    '[PRS-2] [MET-3] %s: fewer and less often above the soft limit, none from the hard one on',
    (probe) => {
      const decide = (share: number) => limiterOf(pressed(probe, share)).decide(16);
      expect(decide(0.25)).toEqual({ kind: 'reduced', probe, maxClaims: 12, restMs: 63 });
      expect(decide(0.999)).toEqual({ kind: 'reduced', probe, maxClaims: 1, restMs: 250 });
      expect(decide(1)).toEqual({ kind: 'denied', probe, maxClaims: 0, restMs: 250 });
      expect(decide(50)).toEqual({ kind: 'denied', probe, maxClaims: 0, restMs: 250 });
    },
  );

  test('[PRS-2] the probe that is pressed most decides', () => {
    const reading = { ...pressed('statementMs', 0.9), ...{ walBytes: pressed('walBytes', 0.5).walBytes } };
    expect(limiterOf(reading).decide(10)).toMatchObject({ probe: 'statementMs', maxClaims: 1 });
  });

  test('[PRS-2] a degraded probe leaves expired leases alone to be claimed, as many as were asked for', () => {
    expect(limiterOf(null).decide(16)).toEqual({
      kind: 'stale_only',
      probe: 'degraded',
      maxClaims: 16,
      restMs: 250,
    });
  });

  test('[ADM-4, PRS-2] while this process admits, a claim is one short transaction, and the next one may follow at once', () => {
    const short = { kind: 'reduced', probe: 'admission', maxClaims: SHORT_BATCH, restMs: 0 };
    expect(whileAdmitting(NONE).decide(SHORT_BATCH + 1)).toEqual(short);
    expect(whileAdmitting(NONE).decide(SHORT_BATCH)).toMatchObject({ kind: 'granted', probe: null });
  });

  test('[ADM-4, PRS-2] while this process admits, pressure decides as ever, and no claim is long', () => {
    const decide = (reading: PressureReading) => whileAdmitting(reading).decide(256);
    const probe = 'statementMs';
    expect(decide(pressed(probe, 0.25))).toEqual({
      kind: 'reduced',
      probe,
      maxClaims: SHORT_BATCH,
      restMs: 63,
    });
    expect(decide(pressed(probe, 0.99))).toEqual({ kind: 'reduced', probe, maxClaims: 2, restMs: 248 });
    expect(decide(pressed(probe, 1))).toMatchObject({ kind: 'denied', probe, maxClaims: 0 });
    expect(decide(null)).toMatchObject({ kind: 'stale_only', maxClaims: SHORT_BATCH });
  });

  test('[PRS-2] never more than asked, never none without a denial, whatever the pressure', () => {
    const reading = fc.record({
      poolWaitMs: fc.option(fc.nat(5_000)),
      statementMs: fc.float({ min: 0, max: 2_000, noNaN: true }),
      inboxDepth: fc.option(fc.nat(4_000)),
      walBytes: fc.option(fc.nat(2 ** 31 - 1)),
    });
    fc.assert(
      fc.property(fc.option(reading), fc.integer({ min: 1, max: 64 }), (pressure, asked) => {
        const { kind, maxClaims } = limiterOf(pressure).decide(asked);
        expect(maxClaims).toBeLessThanOrEqual(asked);
        expect(maxClaims === 0).toBe(kind === 'denied');
        if (kind === 'granted') expect(maxClaims).toBe(asked);
      }),
    );
  });

  test('[PRS-2] a store that stays pressed still drains: one claim is let through every ten seconds', async () => {
    const clock = new ManualClock();
    const limiter = limiterOf(pressed('walBytes', 2), clock);
    const decisions: string[] = [];
    for (let second = 0; second <= 25; second++) {
      const { kind, maxClaims } = limiter.decide(16);
      if (kind !== 'denied') decisions.push(`${second}:${kind}:${maxClaims}`);
      await clock.advance(1_000);
    }
    expect(decisions).toEqual(['10:reduced:1', '20:reduced:1']);
  });

  test('[PRS-2] the ten seconds count from the last break', async () => {
    const clock = new ManualClock();
    let reading: PressureReading = pressed('inboxDepth', 1);
    const limiter = new ClaimLimiter({
      limits: DEFAULT_PRESSURE,
      read: () => reading,
      isAdmitting: () => false,
      clock,
    });
    limiter.decide(16);
    await clock.advance(9_000);
    reading = NONE;
    expect(limiter.decide(16).kind).toBe('granted');
    reading = pressed('inboxDepth', 1);
    await clock.advance(2_000);
    expect(limiter.decide(16).kind).toBe('denied');
  });
});
