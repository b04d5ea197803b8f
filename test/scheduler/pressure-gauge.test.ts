import { describe, expect, test } from 'vitest';
import { PressureGauge } from '../../src/scheduler/pressure-gauge.js';
import type { StorePressure } from '../../src/store/store.js';
import { ManualClock, turns } from '../support/manual-clock.js';

const pressure = (inboxDepth: number): StorePressure => ({
  poolWaitMs: null,
  statementMs: 0,
  inboxDepth,
  walBytes: 0,
});

/** A probe whose answers are given by hand. */
class Probe {
  readonly clock = new ManualClock();
  readonly gauge = new PressureGauge(() => this.#ask(), this.clock);
  asked = 0;
  #answer: (reading: StorePressure) => void = () => undefined;
  #fail: (error: Error) => void = () => undefined;

  async answer(reading: StorePressure): Promise<void> {
    this.#answer(reading);
    await turns();
  }

  async fail(): Promise<void> {
    this.#fail(new Error('out of reach'));
    await turns();
  }

  #ask(): Promise<StorePressure> {
    this.asked++;
    return new Promise((resolve, reject) => {
      this.#answer = resolve;
      this.#fail = reject;
    });
  }
}

describe('the pressure gauge', () => {
  test('[PRS-2] asks once for many reads, and anew when the answer is a quarter of a second old', async () => {
    const probe = new Probe();
    expect(probe.gauge.read()).toMatchObject({ inboxDepth: null, statementMs: 0 });
    probe.gauge.read();
    expect(probe.asked).toBe(1);
    await probe.answer(pressure(3));
    expect(probe.gauge.read()).toEqual(pressure(3));
    await probe.clock.advance(249);
    probe.gauge.read();
    expect(probe.asked).toBe(1);
    await probe.clock.advance(1);
    expect(probe.gauge.read()).toEqual(pressure(3));
    expect(probe.asked).toBe(2);
    await probe.answer(pressure(4));
    expect(probe.gauge.read()).toEqual(pressure(4));
  });

  test('[PRS-2] after an idle hour the old reading serves until the new one is there', async () => {
    const probe = new Probe();
    probe.gauge.read();
    await probe.answer(pressure(3));
    await probe.clock.advance(3_600_000);
    expect(probe.gauge.read()).toEqual(pressure(3));
  });

  test('[PRS-2] a probe that gives no answer in a second is degraded, until it answers', async () => {
    const probe = new Probe();
    probe.gauge.read();
    await probe.clock.advance(999);
    expect(probe.gauge.read()).not.toBeNull();
    await probe.clock.advance(1);
    expect(probe.gauge.read()).toBeNull();
    expect(probe.asked).toBe(1);
    await probe.answer(pressure(5));
    expect(probe.gauge.read()).toEqual(pressure(5));
  });

  test('[PRS-2] a probe that fails is degraded, and asked again', async () => {
    const probe = new Probe();
    probe.gauge.read();
    await probe.fail();
    expect(probe.gauge.read()).toBeNull();
    await probe.clock.advance(250);
    expect(probe.gauge.read()).toBeNull();
    expect(probe.asked).toBe(2);
    await probe.answer(pressure(1));
    expect(probe.gauge.read()).toEqual(pressure(1));
  });
});
