import { describe, expect, test } from 'vitest';
import type { Random } from '../../src/core/random.js';
import { OutagePacing } from '../../src/scheduler/outage-pacing.js';
import { ScanPacing } from '../../src/scheduler/scan-pacing.js';

const drawing = (float: number): Random => ({ float: () => float, bytes: (count) => new Uint8Array(count) });
const pacing = () => new ScanPacing({ minMs: 25, maxMs: 1_000 });

/** Rests after `looks` empty looks, each told `nextInMs`. */
function rests(looks: number, nextInMs: number | null): number[] {
  const paced = pacing();
  return Array.from({ length: looks }, () => {
    paced.foundNothing(nextInMs);
    return paced.restMs();
  });
}

describe('how long a scheduler rests', () => {
  test('[SCH-9] doubles with every empty look, to its ceiling', () => {
    expect(rests(8, null)).toEqual([50, 100, 200, 400, 800, 1_000, 1_000, 1_000]);
  });

  test('found work brings the shortest rest back', () => {
    const paced = pacing();
    for (let look = 0; look < 8; look++) paced.foundNothing(null);
    paced.found();
    expect(paced.restMs()).toBe(25);
  });

  test('never rests past the moment something is due', () => {
    const paced = pacing();
    for (let look = 0; look < 8; look++) paced.foundNothing(null);
    paced.restMs();
    paced.foundNothing(7);
    expect(paced.restMs()).toBe(7);
    paced.foundNothing(5_000);
    expect(paced.restMs()).toBe(1_000);
  });

  test('[SCH-9] a due time that keeps bringing nothing cannot make it spin', () => {
    const looks = rests(20, 0);
    expect(looks.slice(0, 4)).toEqual([1, 2, 4, 8]);
    expect(looks.at(-1)).toBe(1_000);
  });

  test('a failing store is left alone for longer each time, within a cap and with jitter', () => {
    const rests = (float: number): number[] => {
      const outage = new OutagePacing(drawing(float));
      return Array.from({ length: 9 }, () => {
        outage.failed();
        return outage.restMs;
      });
    };
    expect(rests(1)).toEqual([100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000]);
    expect(rests(0)).toEqual(rests(1).map((delayMs) => delayMs / 2));
  });

  test('a store that answers again is asked at once', () => {
    const outage = new OutagePacing(drawing(1));
    outage.failed();
    expect(outage).toMatchObject({ failing: true, restMs: 100 });
    outage.answered();
    expect(outage).toMatchObject({ failing: false, restMs: 0 });
  });
});
