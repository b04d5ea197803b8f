import { describe, expect, test } from 'vitest';
import { DEFAULT_POLL } from '../../src/scheduler/scan-pacing.js';
import { lineToLook, lineToScan, ShapeLine } from '../../src/scheduler/shape-line.js';
import { executorSlots } from '../../src/scheduler/shapes.js';

const [LATENCY, BULK, SHARED] = executorSlots('reserved', 4).map(({ shape }) => shape);
const BULK_FIRST = executorSlots('default-heavy', 4).find(({ shape }) => shape.name === 'bulk')!.shape;
const SOLE = executorSlots('reserved', 1)[0]!.shape;

interface Sketch {
  readonly waiting?: number;
  readonly dirty?: boolean;
  readonly scan?: number;
  readonly lookAt?: number;
}

function line(shape = SHARED!, { waiting = 1, dirty = true, scan = 0, lookAt = 0 }: Sketch = {}) {
  const made = new ShapeLine<never>(shape, DEFAULT_POLL);
  made.waiting = Array.from({ length: waiting }, (_, id) => ({ slot: { id, shape }, give() {} }));
  return Object.assign(made, { dirty, scan, lookAt });
}

describe('whose turn it is', () => {
  test('[RSV-4] the line scanned longest ago, however much another one finds', () => {
    const lines = [line(LATENCY, { scan: 7 }), line(BULK, { scan: 5 }), line(SHARED, { scan: 6 })];
    expect(lineToScan(lines)).toBe(lines[1]);
  });

  test('[RSV-1] a line without a waiting slot has none, and one that can get nothing neither', () => {
    const lines = [line(LATENCY, { waiting: 0 }), line(BULK, { dirty: false }), line(SHARED, { scan: 9 })];
    expect(lineToScan(lines)).toBe(lines[2]);
    expect(lineToScan(lines.slice(0, 2))).toBeNull();
    expect(lineToScan([])).toBeNull();
  });
});

describe('who looks when nothing was said', () => {
  test('one that may run everything answers for all that wait', () => {
    const lines = [
      line(LATENCY, { lookAt: 1 }),
      line(BULK, { lookAt: 2 }),
      line(SHARED, { lookAt: 900 }),
      line(BULK_FIRST, { lookAt: 3 }),
    ];
    expect(lineToLook(lines)).toBe(lines[2]);
  });

  test('while it is busy, each of the others looks for itself, in its time', () => {
    const lines = [
      line(LATENCY, { lookAt: 20 }),
      line(BULK, { lookAt: 10 }),
      line(SHARED, { waiting: 0, lookAt: 1 }),
    ];
    expect(lineToLook(lines)).toBe(lines[1]);
    expect(lineToLook([line(LATENCY, { waiting: 0 })])).toBeNull();
  });
});

test('[RSV-2] an affinity counts when its claim brought something', () => {
  const sole = line(SOLE);
  const turns = Array.from({ length: 5 }, () => {
    const { preference } = sole;
    sole.pacing.foundNothing(null);
    expect(sole.preference).toEqual(preference);
    sole.found();
    return preference;
  });
  expect(turns).toEqual([['interactive'], ['interactive'], ['interactive'], [], ['interactive']]);
});
