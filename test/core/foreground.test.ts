import { describe, expect, test } from 'vitest';
import { Foreground } from '../../src/core/foreground.js';
import { ManualClock, turns } from '../support/manual-clock.js';

/** Commits that end when they are told to, and transactions of the drain that note when they may begin. */
function setUp() {
  const clock = new ManualClock();
  const foreground = new Foreground(clock);
  const begun: string[] = [];
  return {
    clock,
    foreground,
    begun,
    ask: (name: string) => void foreground.turn().then(() => begun.push(name)),
    commit() {
      let end: (result: number) => void = () => undefined;
      let fail: (error: Error) => void = () => undefined;
      const result = foreground.admit(
        () =>
          new Promise<number>((resolve, reject) => {
            end = resolve;
            fail = reject;
          }),
      );
      return { result, end, fail };
    },
  };
}

describe('admission before the drain', () => {
  test('[ADM-4] nothing is held up while nothing is committed', async () => {
    const { foreground, begun, ask } = setUp();
    expect(foreground.isActive).toBe(false);
    ask('claim');
    ask('finalize');
    await turns(1);
    expect(begun).toEqual(['claim', 'finalize']);
  });

  test('[ADM-4] a transaction that comes during a commit waits for its end, which lets one go', async () => {
    const { clock, foreground, begun, ask, commit } = setUp();
    const first = commit();
    for (const name of ['claim', 'finalize', 'other claim']) ask(name);
    await turns();
    expect(begun).toEqual([]);
    first.end(7);
    expect(await first.result).toBe(7);
    const second = commit();
    await turns();
    expect(begun).toEqual(['claim']);
    second.fail(new Error('no'));
    await expect(second.result).rejects.toThrow('no');
    await turns();
    expect(begun).toEqual(['claim', 'finalize']);
    expect(foreground.isActive).toBe(true);
    await clock.advance(1_000);
    expect(clock.pending).toBe(0);
  });

  test('[ADM-4] nothing waits here where the store itself lets them take turns; it is short all the same', async () => {
    const foreground = new Foreground(new ManualClock(), { alternates: true });
    let end: () => void = () => undefined;
    const commit = foreground.admit(() => new Promise<void>((resolve) => (end = resolve)));
    await foreground.turn();
    expect(foreground.isActive).toBe(true);
    end();
    await commit;
  });

  test('[ADM-4] whoever waits longest goes first, and a commit that hangs holds nobody up for long', async () => {
    const { clock, begun, ask, commit } = setUp();
    const hanging = commit();
    ask('claim');
    await clock.advance(49);
    ask('finalize');
    expect(begun).toEqual([]);
    await clock.advance(1);
    expect(begun).toEqual(['claim']);
    await clock.advance(49);
    expect(begun).toEqual(['claim', 'finalize']);
    hanging.end(0);
    await hanging.result;
    expect(clock.pending).toBe(0);
  });

  test('[ADM-4] a process that admitted just now still does', async () => {
    const { clock, foreground, commit } = setUp();
    const one = commit();
    const other = commit();
    expect(foreground.isActive).toBe(true);
    one.end(0);
    await one.result;
    await clock.advance(10_000);
    expect(foreground.isActive).toBe(true);
    other.end(0);
    await other.result;
    await clock.advance(249);
    expect(foreground.isActive).toBe(true);
    await clock.advance(1);
    expect(foreground.isActive).toBe(false);
  });
});
