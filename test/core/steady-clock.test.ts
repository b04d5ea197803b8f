import { describe, expect, test } from 'vitest';
import type { Clock } from '../../src/core/clock.js';
import { steadyClock } from '../../src/core/steady-clock.js';

const START = 1_000_000;
const JUMP = 600_000;

/** The machine: what passes, and what somebody sets the wall clock to. */
class Machine implements Pick<Clock, 'now' | 'monotonic'> {
  elapsed = 0;
  offset = 0;
  now = () => START + Math.floor(this.elapsed) + this.offset;
  monotonic = () => this.elapsed;
}

const steadied = (machine: Machine): Clock => steadyClock(machine as unknown as Clock);

describe('a steady clock', () => {
  test('tells the time of a wall clock that nobody sets', () => {
    const machine = new Machine();
    const clock = steadied(machine);
    for (const elapsed of [0, 0.4, 1, 17.3, 5_000, 86_400_000]) {
      machine.elapsed = elapsed;
      expect(Math.abs(clock.now() - machine.now())).toBeLessThanOrEqual(1);
    }
  });

  test.each([JUMP, -JUMP])('[OWN-5] does not jump with it by %i ms, and comes to it in the end', (jump) => {
    const machine = new Machine();
    const clock = steadied(machine);
    machine.offset = jump;
    expect(clock.now()).toBe(START);
    let before = START;
    for (let minute = 1; minute <= 100; minute++) {
      machine.elapsed = minute * 60_000;
      const now = clock.now();
      expect(now - before).toBe(60_000 + Math.sign(jump) * 6_000);
      before = now;
    }
    expect(before).toBe(machine.now());
    machine.elapsed += 60_000;
    expect(clock.now()).toBe(machine.now());
  });

  test('[OWN-5] never goes back, however often it is asked', () => {
    const machine = new Machine();
    const clock = steadied(machine);
    machine.offset = -JUMP;
    let before = clock.now();
    for (let step = 0; step < 1_000; step++) {
      machine.elapsed += 0.3;
      const now = clock.now();
      expect(now).toBeGreaterThanOrEqual(before);
      before = now;
    }
    expect(before).toBeGreaterThanOrEqual(START + 269);
  });
});
