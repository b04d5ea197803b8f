import { describe, expect, test } from 'vitest';
import { LatencyMeter } from '../../src/store/latency-meter.js';
import { ManualClock } from '../support/manual-clock.js';

async function metered(...tookMs: readonly number[]) {
  const clock = new ManualClock();
  const meter = new LatencyMeter(clock);
  for (const ms of tookMs) {
    const startedAt = clock.monotonic();
    await clock.advance(ms);
    meter.note(startedAt);
  }
  return { clock, meter };
}

describe('[PRS-2] [MET-3] the latency meter', () => {
  test('nears what statements take, and one slow statement is not a slow store', async () => {
    const { meter } = await metered(...Array.from({ length: 100 }, () => 1));
    expect(meter.latencyMs).toBeCloseTo(1, 1);
    const { meter: once } = await metered(...Array.from({ length: 100 }, () => 1), 500);
    expect(once.latencyMs).toBeLessThan(60);
  });

  test('a store that nobody asks any more is not slow for ever: half after each second', async () => {
    const { clock, meter } = await metered(400, 400, 400);
    const before = meter.latencyMs;
    await clock.advance(3_000);
    expect(meter.latencyMs).toBeCloseTo(before / 8, 6);
  });

  test('is 0 before the first statement', async () => {
    expect((await metered()).meter.latencyMs).toBe(0);
  });
});
