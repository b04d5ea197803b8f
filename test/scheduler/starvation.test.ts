import { describe, expect, test } from 'vitest';
import { QUEUE_CLASSES, QUEUE_PROFILES, type QueueClass } from '../../src/core/work.js';
import { executorSlots } from '../../src/scheduler/shapes.js';
import { ClaimingSlots } from '../support/claiming-slots.js';
import { turns, until } from '../support/manual-clock.js';
import { useBench, type WorkBench } from '../support/work-bench.js';

const openBench = useBench();

/** Of one class, each of another source. */
const admit = (bench: WorkBench, name: string, count: number, queueClass: QueueClass): Promise<void> =>
  bench.admit({ events: Array.from({ length: count }, (_, n) => ({ source: `${name}-${n}`, queueClass })) });

const PAIRS = QUEUE_CLASSES.flatMap((flood) =>
  QUEUE_CLASSES.filter((other) => other !== flood).map((other) => [flood, other] as const),
);

describe('a class that keeps coming', () => {
  for (const profile of QUEUE_PROFILES) {
    test.each([1, 2, 3, 4, 7])(
      `[RSV-4] ${profile}, %d slots: starves no other, whatever the two are`,
      async (count) => {
        for (const [flood, other] of PAIRS) {
          const bench = await openBench();
          const older = 3 * count;
          await admit(bench, 'older', older, flood);
          const slots = new ClaimingSlots(bench, executorSlots(profile, count));
          await until(() => slots.running.length > 0, 'the flood runs');
          await admit(bench, 'other', 1, other);
          slots.scheduler.wake([other]);
          const hasStarted = (): boolean => slots.running.some(({ item }) => item.queueClass === other);
          let finished = 0;
          // What is older, what runs beside it, and three preferred turns of a slot alone.
          for (const bound = older + count + 3; !hasStarted() && finished <= bound; ) {
            await admit(bench, `newer-${finished}`, count, flood);
            slots.scheduler.wake([flood]);
            await until(() => slots.running.length > 0, 'something runs');
            await turns();
            if (hasStarted()) break;
            finished += slots.running.length;
            await slots.finish();
            await turns();
          }
          expect({ flood, other, started: hasStarted() }).toEqual({ flood, other, started: true });
          expect(bench.clock.monotonic()).toBe(0);
        }
      },
    );
  }
});

test('[QCL-5] [SCH-9] an urgent item behind a bulk one of its source starts in a free slot of its own when that one ends, and no earlier', async () => {
  const bench = await openBench();
  await admit(bench, 'source', 6, 'bulk');
  const slots = new ClaimingSlots(bench, executorSlots('reserved', 4));
  await until(() => slots.running.length === 3, 'all but the latency slot run');
  await admit(bench, 'source', 1, 'interactive');
  slots.scheduler.wake(['interactive']);
  await turns();
  expect(slots.running.map(({ slot, item }) => `${slot.shape.name}:${item.queueClass}`)).toEqual([
    'bulk:bulk',
    'shared:bulk',
    'shared:bulk',
  ]);
  await slots.finish(1);
  await until(
    () =>
      slots.running.some(
        ({ slot, item }) => `${slot.shape.name}:${item.queueClass}` === 'latency:interactive',
      ),
    'the urgent one runs, without any time passing',
  );
  expect(bench.clock.monotonic()).toBe(0);
});
