import { describe, expect, test } from 'vitest';
import type { FlowContext } from '../../src/packs/types.js';
import { type Flow, packOf, useBench } from '../support/work-bench.js';

const openBench = useBench();

/** Runs one item once and shows its row. */
async function runOnce(flow: Flow) {
  const bench = await openBench();
  await bench.admitSources(1);
  const supervisor = bench.supervise(packOf(flow, { retry: { attempts: 3, baseMs: 1_000, maxMs: 1_000 } }));
  supervisor.start();
  await bench.clock.advance(1);
  const [row] = bench.items();
  return { ...row!, dueInMs: row!.RunAfter - bench.clock.now() + 1 };
}

describe('what a flow decides', () => {
  test('[EXE-1] a flow that returns completes its item', async () => {
    expect(await runOnce(() => undefined)).toMatchObject({
      State: 'completed',
      Failures: 0,
      LastError: null,
    });
    expect(await runOnce(async () => undefined)).toMatchObject({ State: 'completed' });
  });

  test('skip ends the item as skipped, dead as dead, whatever is left of its budget', async () => {
    expect(await runOnce((_, ctx) => ctx.skip('not for us'))).toMatchObject({
      State: 'skipped',
      LastErrorCode: 'flow_skip',
      LastError: 'not for us',
    });
    expect(await runOnce((_, ctx) => ctx.dead('refused for good'))).toMatchObject({
      State: 'dead',
      LastErrorCode: 'flow_dead',
      LastError: 'refused for good',
    });
  });

  test('[EXE-4] retryAfter costs a failure and comes back when it says', async () => {
    expect(await runOnce((_, ctx) => ctx.retryAfter(42_000))).toMatchObject({
      State: 'pending',
      Failures: 1,
      LastErrorCode: 'retry_after',
      dueInMs: 42_000,
    });
  });

  test.each([
    ['not a number', Number.NaN],
    ['negative', -1],
    ['a text', '60' as unknown as number],
  ])("a delay that is %s falls back to the route's own backoff", async (_, delayMs) => {
    const row = await runOnce((_event, ctx) => ctx.retryAfter(delayMs));
    expect(row).toMatchObject({ State: 'pending', Failures: 1 });
    expect(row.dueInMs).toBeGreaterThanOrEqual(500);
    expect(row.dueInMs).toBeLessThanOrEqual(1_000);
  });

  test('an endless delay is bounded', async () => {
    const row = await runOnce((_, ctx) => ctx.retryAfter(Number.POSITIVE_INFINITY));
    expect(row.dueInMs).toBe(365 * 24 * 3_600_000);
  });

  test('[EXE-4] any other throw is a failure, due again by the policy of the route', async () => {
    const row = await runOnce(() => {
      throw new TypeError('boom');
    });
    expect(row).toMatchObject({
      State: 'pending',
      Failures: 1,
      LastErrorCode: 'flow_error',
      LastError: 'TypeError: boom',
    });
    expect(row.dueInMs).toBeGreaterThanOrEqual(500);
    expect(row.dueInMs).toBeLessThanOrEqual(1_000);
  });

  test('a rejection with nothing is a failure too', async () => {
    expect(await runOnce(() => Promise.reject(undefined))).toMatchObject({
      State: 'pending',
      LastErrorCode: 'flow_error',
      LastError: 'undefined was thrown',
    });
  });
});

describe('a verdict on its way out of the flow', () => {
  const skipping = (ctx: FlowContext<unknown>): never => ctx.skip('deep inside');

  test('counts when it is caught and thrown again', async () => {
    const row = await runOnce((_, ctx) => {
      try {
        skipping(ctx);
      } catch (error) {
        ctx.log.warn('seen', { error });
        throw error;
      }
    });
    expect(row.State).toBe('skipped');
  });

  test('counts as the cause of an error that wraps it', async () => {
    const row = await runOnce((_, ctx) => {
      try {
        skipping(ctx);
      } catch (error) {
        throw new Error('while syncing', { cause: new Error('step 2', { cause: error }) });
      }
    });
    expect(row).toMatchObject({ State: 'skipped', LastError: 'deep inside' });
  });

  test('is none when it is swallowed: the flow returned', async () => {
    const row = await runOnce((_, ctx) => {
      try {
        skipping(ctx);
      } catch {
        // on purpose
      }
    });
    expect(row.State).toBe('completed');
  });

  test('works when the verdict was taken out of ctx', async () => {
    expect((await runOnce((_, { skip }) => skip('destructured'))).LastError).toBe('destructured');
  });

  test('[EXE-4] of another item says nothing about this one', async () => {
    const bench = await openBench();
    await bench.admit({ events: [{ source: 'a' }, { source: 'b' }] });
    let cached: Promise<never> | undefined;
    const flow: Flow = async (_, ctx) => {
      cached ??= (async () => ctx.dead('only the first one'))();
      await cached;
    };
    bench.supervise(packOf(flow)).start();
    await bench.clock.advance(1);
    expect(bench.items().map((row) => [row.State, row.LastErrorCode])).toEqual([
      ['dead', 'flow_dead'],
      ['pending', 'flow_error'],
    ]);
  });
});

describe('what a flow is given', () => {
  test('[EXE-2] the claim, from the WorkItem; the Event, as input', async () => {
    const bench = await openBench();
    await bench.admit({ delivery: 'd-1', events: [{ source: 'octo/hello', payload: '{"n":1}' }] });
    const seen: unknown[] = [];
    const flow: Flow = (event, ctx) => {
      const { attempt, epoch, workId, prefetched } = ctx;
      seen.push({
        attempt,
        epoch,
        workId,
        prefetched,
        json: event.json(),
        source: event.sourceKey,
        id: event.id,
      });
      ctx.log.info('running');
      if (attempt === 1) ctx.retryAfter(0);
    };
    bench.supervise(packOf(flow)).start();
    await bench.untilStates('completed');
    const [row] = bench.items();
    const common = {
      workId: row!.WorkId,
      prefetched: undefined,
      json: { n: 1 },
      source: 'octo/hello',
      id: row!.EventId,
    };
    expect(seen).toEqual([
      { attempt: 1, epoch: 1, ...common },
      { attempt: 2, epoch: 2, ...common },
    ]);
    expect(bench.log.lines).toContainEqual({
      level: 'info',
      message: 'running',
      fields: {
        namespace: 'acme',
        pack: 'bench',
        eventId: row!.EventId,
        workId: row!.WorkId,
        route: 'events',
        attempt: 2,
      },
    });
  });
});
