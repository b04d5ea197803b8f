import { expect, test } from 'vitest';
import { DEFAULT_PRESSURE } from '../../src/scheduler/claim-limiter.js';
import { supervisorProblems, supervisorSettings } from '../../src/supervisor/supervisor-settings.js';
import { until } from '../support/manual-clock.js';
import { packOf, record, useBench } from '../support/work-bench.js';

const openBench = useBench();

test('[PRS-2] [MET-3] a store whose log is over its limit is left alone, but for one item every ten seconds', async () => {
  const bench = await openBench();
  await bench.admitSources(3);
  // A write-ahead log is never this short.
  const pressure = { ...DEFAULT_PRESSURE, walBytes: { soft: 0, hard: 1 } };
  const supervisor = bench.supervise(
    packOf(() => undefined),
    { settings: { pressure } },
  );
  const decisions = record(supervisor.events, 'claimDecided');
  supervisor.start();
  // What the very first scan takes, before anything was measured, is not what this is about.
  await until(() => decisions.length > 0, 'a decision');
  for (let step = 0; step < 4; step++) await bench.clock.advance(250);
  const early = bench.states().filter((state) => state === 'completed').length;
  await bench.admitSources(6);
  for (let step = 0; step < 4 * 8; step++) await bench.clock.advance(250);
  expect(bench.states().filter((state) => state === 'completed')).toHaveLength(early);
  for (let step = 0; step < 4 * 21; step++) await bench.clock.advance(250);
  await until(() => bench.states().filter((state) => state === 'completed').length === early + 2, 'two more');
  const last = decisions.filter(({ decision }) => decision.kind === 'denied').at(-1)!;
  expect(last).toMatchObject({
    packId: bench.installed.packId,
    decision: { probe: 'walBytes', maxClaims: 0 },
  });
  expect(last.waiting).toBeGreaterThan(0);
});

test('[PRS-2] limits of pressure are checked, all at once', () => {
  const pressure = { ...DEFAULT_PRESSURE, walBytes: { soft: 2, hard: 2 }, disk: { soft: 1, hard: 2 } };
  const { inboxDepth: _, ...withoutInbox } = pressure;
  expect(supervisorProblems({ pressure: withoutInbox as never }).map(({ name }) => name)).toEqual([
    'pressure.disk',
    'pressure.walBytes',
  ]);
});

test('[PRS-2] a probe that is left out keeps its default', () => {
  const walBytes = { soft: 1, hard: 2 };
  expect(supervisorProblems({ pressure: { walBytes } })).toEqual([]);
  expect(supervisorSettings({ pressure: { walBytes } }).pressure).toEqual({ ...DEFAULT_PRESSURE, walBytes });
  expect(supervisorProblems({ pressure: 5 as never })).toEqual([
    { name: 'pressure', message: 'must be an object' },
  ]);
});
