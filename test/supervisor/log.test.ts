import { expect, test } from 'vitest';
import { type Flow, packOf, useBench } from '../support/work-bench.js';

const open = useBench();

/** Fails for good on the sources that say so; elsewhere once. */
const flow: Flow = (event, ctx) => {
  if (event.sourceKey === 'skipped') return ctx.skip('nothing to do');
  if (event.sourceKey === 'ended') return ctx.dead('no such\naccount');
  if (event.sourceKey === 'retried' && ctx.attempt === 1) ctx.retryAfter(7);
  if (event.sourceKey === 'held') throw new Error('the provider said no');
};

test('[EXE-4] a failed attempt, an end, and a lane that waits are each one line that says what to do', async () => {
  const bench = await open();
  const sources = ['completed', 'skipped', 'retried', 'ended', 'held'];
  await bench.admit({
    events: sources.map((source) =>
      source === 'held' ? { source, budget: 1, onDead: 'hold' } : { source, budget: 3, onDead: 'advance' },
    ),
  });
  const supervisor = bench.supervise(packOf(flow), { settings: { workersPerPack: 1 } });
  supervisor.start();
  await bench.untilStates('completed', 'skipped', 'pending', 'dead', 'held');
  await bench.clock.advance(1_000);
  await bench.untilStates('completed', 'skipped', 'completed', 'dead', 'held');

  const rows = bench.items();
  const about = (place: number) => ({
    packId: bench.installed.packId,
    namespace: 'acme',
    pack: 'bench',
    eventId: rows[place]!.EventId,
    workId: rows[place]!.WorkId,
    route: 'events',
    attempt: 1,
  });
  const lines = bench.log.lines.filter(({ message }) => message !== 'workers started');
  expect(lines).toHaveLength(4);
  expect(lines).toEqual(
    expect.arrayContaining([
      {
        level: 'debug',
        message: 'work was skipped',
        fields: { ...about(1), error: { code: 'flow_skip', message: 'nothing to do' } },
      },
      {
        level: 'warn',
        message: 'attempt failed and will be repeated',
        fields: {
          ...about(2),
          failures: 1,
          failureBudget: 3,
          dueInMs: 7,
          error: { code: 'retry_after', message: 'the flow asked to be run again later' },
        },
      },
      {
        level: 'error',
        message: 'work is dead and its lane goes on',
        fields: expect.objectContaining({
          ...about(3),
          error: { code: 'flow_dead', message: 'no such account' },
        }),
      },
      {
        level: 'error',
        message: 'work is held and its lane waits',
        fields: {
          ...about(4),
          failures: 1,
          failureBudget: 1,
          error: { code: 'flow_error', message: 'Error: the provider said no' },
          action: `lanehead lanes retry|skip|end ${rows[4]!.EventId}`,
        },
      },
    ]),
  );
});
