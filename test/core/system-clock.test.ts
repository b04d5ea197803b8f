import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../src/core/system.js';

const LONGEST_TIMER_MS = 2 ** 31 - 1;

describe('a wait on the machine that no timer can hold', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test('fires when it is over, and not before', () => {
    const fire = vi.fn();
    systemClock.after(2 * LONGEST_TIMER_MS + 10, fire);
    vi.advanceTimersByTime(2 * LONGEST_TIMER_MS + 9);
    expect(fire).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(fire).toHaveBeenCalledOnce();
  });

  test('never fires when it has no end, and can be cancelled in any of its parts', () => {
    const fire = vi.fn();
    const cancel = systemClock.after(Number.POSITIVE_INFINITY, fire);
    vi.advanceTimersByTime(3 * LONGEST_TIMER_MS);
    expect(fire).not.toHaveBeenCalled();
    expect(vi.getTimerCount()).toBe(1);
    cancel();
    expect(vi.getTimerCount()).toBe(0);
  });

  test('ends early for a signal, and leaves no timer', async () => {
    const stop = new AbortController();
    const slept = systemClock.sleep(Number.POSITIVE_INFINITY, stop.signal);
    vi.advanceTimersByTime(LONGEST_TIMER_MS);
    stop.abort();
    await slept;
    expect(vi.getTimerCount()).toBe(0);
  });
});
