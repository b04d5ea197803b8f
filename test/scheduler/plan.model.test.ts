import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { QUEUE_CLASSES, QUEUE_PROFILES } from '../../src/core/work.js';
import { claimRoom, planClaim, type SchedulerView } from '../../src/scheduler/plan.js';
import { executorSlots } from '../../src/scheduler/shapes.js';
import { fuzzOptions } from '../support/fuzz-options.js';

const { seed, runs } = fuzzOptions(2_000);
const parameters = { seed, numRuns: runs };

/** Up to what nobody configures. */
const amount = fc.oneof(fc.integer({ min: 0, max: 40 }), fc.constantFrom(2 ** 31, Number.MAX_SAFE_INTEGER));

const shapes = QUEUE_PROFILES.flatMap((profile) =>
  [1, 4].flatMap((count) => executorSlots(profile, count).map(({ shape }) => shape)),
);

const view: fc.Arbitrary<SchedulerView> = fc
  .record({
    idle: fc.integer({ min: 0, max: 40 }),
    shape: fc.constantFrom(...shapes),
    preference: fc.subarray([...QUEUE_CLASSES]),
    running: amount,
    // Less than nothing, where a caller took something off.
    processingBudget: fc.oneof(amount, fc.constantFrom(-1, Number.MIN_SAFE_INTEGER)),
    limits: fc.constant(null),
    runnable: fc.constant(null),
    mode: fc.constantFrom('any', 'fresh', 'stale'),
    repeat: fc.boolean(),
    packId: fc.nat(),
    generation: fc.nat(),
  })
  .map((drawn) => ({ ...drawn, leaseMs: 30_000, token: 'token', holder: 'host/1' }));

function askedBy(plan: ReturnType<typeof planClaim>): number {
  return plan.kind === 'claim' ? plan.request.maxClaims : 0;
}

describe('a plan, whatever the scheduler sees', () => {
  test('[SCH-3] [DRN-1] asks for no more than there are idle slots, and never exceeds the budget', () => {
    fc.assert(
      fc.property(view, (seen) => {
        const asked = askedBy(planClaim(seen));
        expect(asked).toBeGreaterThanOrEqual(0);
        expect(asked).toBeLessThanOrEqual(seen.idle);
        if (seen.mode !== 'stale' && asked > 0)
          expect(asked + seen.running).toBeLessThanOrEqual(seen.processingBudget);
        expect(asked).toBe(claimRoom(seen));
      }),
      parameters,
    );
  });

  test('[SCH-3] waits only when there is no slot or no room: it asks for all that may run', () => {
    fc.assert(
      fc.property(view, (seen) => {
        const room = seen.mode === 'stale' ? Number.POSITIVE_INFINITY : seen.processingBudget - seen.running;
        if (planClaim(seen).kind === 'wait') expect(Math.min(seen.idle, room)).toBeLessThanOrEqual(0);
        else expect(askedBy(planClaim(seen))).toBe(Math.min(seen.idle, room));
      }),
      parameters,
    );
  });

  test('[TRM-5] asks for the classes of its slots and for no other, in their incarnation', () => {
    fc.assert(
      fc.property(view, (seen) => {
        const plan = planClaim(seen);
        if (plan.kind === 'wait') return;
        const { packId, generation, mode, processingBudget, queueClasses, preference } = plan.request;
        expect({ packId, generation, mode, processingBudget, queueClasses, preference }).toEqual({
          packId: seen.packId,
          generation: seen.generation,
          mode: seen.mode,
          processingBudget: seen.processingBudget,
          queueClasses: seen.shape.queueClasses,
          preference: seen.preference,
        });
      }),
      parameters,
    );
  });

  test('[SCH-8] is the same for the same view, and changes nothing of it', () => {
    fc.assert(
      fc.property(view, (seen) => {
        const before = structuredClone(seen);
        expect(planClaim(seen)).toEqual(planClaim(structuredClone(seen)));
        expect(seen).toEqual(before);
      }),
      parameters,
    );
  });
});

/** What happened to a pool in one turn: some items ended, and some were enqueued. */
const turn = fc.record({ ended: fc.nat(10), enqueued: fc.nat(10) });

test('[DRN-1] [SCH-3] a pool that follows its plans is never over its budget and never idle beside work it may take', () => {
  const pool = fc.record({ slots: fc.integer({ min: 1, max: 16 }), budget: fc.integer({ min: 1, max: 20 }) });
  fc.assert(
    fc.property(pool, fc.array(turn, { maxLength: 30 }), ({ slots, budget }, turns) => {
      let [running, backlog] = [0, 0];
      for (const { ended, enqueued } of turns) {
        running -= Math.min(ended, running);
        backlog += enqueued;
        const idle = slots - running;
        const seen = {
          shape: shapes[0]!,
          preference: [],
          packId: 1,
          generation: 1,
          leaseMs: 1,
          token: '',
          holder: '',
          limits: null,
          runnable: null,
          mode: 'any',
          repeat: false,
        } as const;
        const claimed = Math.min(
          backlog,
          askedBy(planClaim({ ...seen, idle, running, processingBudget: budget })),
        );
        running += claimed;
        backlog -= claimed;
        expect(running).toBeLessThanOrEqual(Math.min(slots, budget));
        if (backlog > 0) expect(running).toBe(Math.min(slots, budget));
      }
    }),
    parameters,
  );
});
