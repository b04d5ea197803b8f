import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { QUEUE_CLASSES, QUEUE_PROFILES } from '../../src/core/work.js';
import { covers, executorSlots, mayRun } from '../../src/scheduler/shapes.js';
import { fuzzOptions } from '../support/fuzz-options.js';

const { seed, runs } = fuzzOptions(200);
const parameters = { seed, numRuns: runs };

const profile = fc.constantFrom(...QUEUE_PROFILES);
const count = fc.integer({ min: 1, max: 200 });

/** Slots by the name of their shape. */
function counted(...drawn: Parameters<typeof executorSlots>): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { shape } of executorSlots(...drawn)) counts[shape.name] = (counts[shape.name] ?? 0) + 1;
  return counts;
}

const shapesOf = (...drawn: Parameters<typeof executorSlots>) => {
  const shapes = executorSlots(...drawn).map(({ shape }) => [shape.name, shape] as const);
  return Object.fromEntries(shapes);
};

describe('the slots of a pool', () => {
  test('[RSV-2] default-heavy, of 16: 4 for what is urgent, 8 for anything, 4 that take bulk first', () => {
    expect(counted('default-heavy', 16)).toEqual({ latency: 4, shared: 8, bulk: 4 });
    expect(shapesOf('default-heavy', 16)).toEqual({
      latency: { name: 'latency', queueClasses: ['interactive', 'default'], preferences: [[]] },
      shared: { name: 'shared', queueClasses: [], preferences: [[]] },
      bulk: { name: 'bulk', queueClasses: [], preferences: [['bulk']] },
    });
  });

  test('[RSV-3] reserved, of 16: 4 for what is urgent, 4 for bulk alone, 8 for anything', () => {
    expect(counted('reserved', 16)).toEqual({ latency: 4, shared: 8, bulk: 4 });
    expect(shapesOf('reserved', 16)).toEqual({
      latency: { name: 'latency', queueClasses: ['interactive', 'default'], preferences: [[]] },
      shared: { name: 'shared', queueClasses: [], preferences: [[]] },
      bulk: { name: 'bulk', queueClasses: ['bulk'], preferences: [[]] },
    });
  });

  test('[RSV-2] [RSV-3] of any number: quarters from 4 on, below it one for what is urgent', () => {
    for (const name of QUEUE_PROFILES) {
      expect(counted(name, 2)).toEqual({ latency: 1, shared: 1 });
      expect(counted(name, 3)).toEqual({ latency: 1, shared: 2 });
      expect(counted(name, 4)).toEqual({ latency: 1, bulk: 1, shared: 2 });
      expect(counted(name, 7)).toEqual({ latency: 1, bulk: 1, shared: 5 });
      expect(counted(name, 8)).toEqual({ latency: 2, bulk: 2, shared: 4 });
    }
  });

  test('[RSV-2] [RSV-3] one alone prefers what is interactive, and at every fourth turn takes what is oldest', () => {
    for (const name of QUEUE_PROFILES) {
      expect(shapesOf(name, 1)).toEqual({
        sole: {
          name: 'sole',
          queueClasses: [],
          preferences: [['interactive'], ['interactive'], ['interactive'], []],
        },
      });
    }
  });

  test('[RSV-4] are as many as asked for, every class has a place, and half of four or more take anything', () => {
    fc.assert(
      fc.property(profile, count, (name, slots) => {
        const shapes = executorSlots(name, slots).map(({ shape }) => shape);
        expect(new Set(executorSlots(name, slots).map(({ id }) => id)).size).toBe(slots);
        for (const queueClass of QUEUE_CLASSES) {
          expect(shapes.some((shape) => mayRun(shape, queueClass))).toBe(true);
        }
        const open = shapes.filter((shape) => shape.name === 'shared' || shape.name === 'sole');
        if (slots !== 2 && slots !== 3) expect(2 * open.length).toBeGreaterThanOrEqual(slots);
      }),
      parameters,
    );
  });

  test('a shape covers another when it may run whatever that one may', () => {
    const { latency, bulk, shared } = shapesOf('reserved', 4);
    const pairs = [latency!, bulk!, shared!].map((wide) =>
      [latency!, bulk!, shared!].map((narrow) => covers(wide, narrow)),
    );
    expect(pairs).toEqual([
      [true, false, false],
      [false, true, false],
      [true, true, true],
    ]);
  });
});
