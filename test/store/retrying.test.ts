import { describe, expect, it } from 'vitest';
import { Contention, DuplicateKey, StoreOutage } from '../../src/store/driver.js';
import { retrying } from '../../src/store/retrying.js';
import { clockThatSleeps } from '../support/sleeping-clock.js';

const random = { float: () => 0.5, bytes: (count: number) => new Uint8Array(count) };
const budget = { attempts: 4, baseMs: 2, maxMs: 100 };

/** Throws what the list says, then answers. */
const failing = (errors: readonly Error[]) => async (number: number) => {
  const error = errors[number - 1];
  if (error !== undefined) throw error;
  return number;
};

describe('retrying', () => {
  it('runs again while there is contention, resting longer each time', async () => {
    const { clock, sleeps } = clockThatSleeps();
    const errors = [new Contention('deadlock'), new DuplicateKey(), new Contention('deadlock')];
    expect(await retrying(clock, random, failing(errors), budget)).toBe(4);
    expect(sleeps).toEqual([1.5, 3, 6]);
  });

  it('gives up as an outage when the budget is spent', async () => {
    const { clock } = clockThatSleeps();
    const errors = Array.from({ length: 9 }, () => new Contention('deadlock'));
    const error = await retrying(clock, random, failing(errors), budget).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(StoreOutage);
    expect(error).toMatchObject({ outcome: 'none', message: 'contention outlasted 4 tries: deadlock' });
  });

  it('lets outages and bugs out at once', async () => {
    const { clock, sleeps } = clockThatSleeps();
    const outage = new StoreOutage('gone', 'none');
    await expect(retrying(clock, random, failing([outage]), budget)).rejects.toBe(outage);
    const bug = new TypeError('bug');
    await expect(retrying(clock, random, failing([bug]), budget)).rejects.toBe(bug);
    expect(sleeps).toEqual([]);
  });

  it('asks again after a COMMIT without an answer, and never forgets that it may be done', async () => {
    const { clock } = clockThatSleeps();
    const unknown = new StoreOutage('cut at COMMIT', 'unknown');
    expect(await retrying(clock, random, failing([unknown]), budget)).toBe(2);
    const down = new StoreOutage('refused', 'none');
    const busy = new Contention('deadlock');
    for (const errors of [
      [unknown, down, down, down],
      [unknown, busy, busy, busy],
    ]) {
      await expect(retrying(clock, random, failing(errors), budget)).rejects.toMatchObject({
        outcome: 'unknown',
      });
    }
  });
});
