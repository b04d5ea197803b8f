import { describe, expect, test } from 'vitest';
import { planClaim, type SchedulerView } from '../../src/scheduler/plan.js';
import { executorSlots } from '../../src/scheduler/shapes.js';

const [latency, bulk, shared] = executorSlots('reserved', 4).map(({ shape }) => shape);

function view(changes: Partial<SchedulerView> = {}): SchedulerView {
  return {
    packId: 7,
    generation: 3,
    shape: shared!,
    preference: [],
    idle: 4,
    running: 0,
    processingBudget: 256,
    limits: null,
    runnable: null,
    mode: 'any',
    leaseMs: 30_000,
    token: 'token',
    repeat: false,
    holder: 'host/1',
    ...changes,
  };
}

const asked = (changes: Partial<SchedulerView>): number => {
  const plan = planClaim(view(changes));
  return plan.kind === 'claim' ? plan.request.maxClaims : 0;
};

describe('the next claim', () => {
  test('[SCH-3] asks for one item per idle slot in one request', () => {
    expect(asked({ idle: 1 })).toBe(1);
    expect(asked({ idle: 16 })).toBe(16);
  });

  test('[DRN-1] asks for no more than the budget leaves beside what runs here', () => {
    expect(asked({ idle: 16, processingBudget: 5 })).toBe(5);
    expect(asked({ idle: 16, processingBudget: 5, running: 3 })).toBe(2);
    expect(planClaim(view({ processingBudget: 5, running: 5 }))).toEqual({ kind: 'wait' });
    expect(planClaim(view({ processingBudget: 5, running: 9 }))).toEqual({ kind: 'wait' });
  });

  test('[DRN-1] takes over stale rows whatever the budget: a takeover adds no row', () => {
    expect(asked({ mode: 'stale', processingBudget: 5, running: 5 })).toBe(4);
  });

  test('waits when no slot is idle', () => {
    expect(planClaim(view({ idle: 0 }))).toEqual({ kind: 'wait' });
  });

  test('[SVC-1] [SCH-8] names both inbound work types, the incarnation and the whole budget, for the store to hold', () => {
    const plan = planClaim(view({ running: 2 }));
    expect(plan).toEqual({
      kind: 'claim',
      request: {
        packId: 7,
        generation: 3,
        claimWorkTypes: ['connector_event', 'workflow_action_apply'],
        queueClasses: [],
        preference: [],
        limits: null,
        runnable: null,
        maxClaims: 4,
        leaseMs: 30_000,
        processingBudget: 256,
        mode: 'any',
        token: 'token',
        repeat: false,
        holder: 'host/1',
      },
    });
  });

  test('[TRM-5] [QCL-1] [QCL-2] names the classes of its shape and its affinity, empty where it has none', () => {
    const classes = (shape = shared!) => {
      const plan = planClaim(view({ shape, preference: ['bulk'] }));
      return plan.kind === 'claim' ? [plan.request.queueClasses, plan.request.preference] : null;
    };
    expect(classes(latency)).toEqual([['interactive', 'default'], ['bulk']]);
    expect(classes(bulk)).toEqual([['bulk'], ['bulk']]);
    expect(classes()).toEqual([[], ['bulk']]);
  });
});
