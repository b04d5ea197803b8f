import { describe, expect, test } from 'vitest';
import { CoverageSweep } from '../../src/runtime/coverage.js';
import { until } from '../support/manual-clock.js';
import { useBench, type WorkBench } from '../support/work-bench.js';

const openBench = useBench();

/** As an older writer leaves Events: nothing of this version's work belongs to them. */
const uncover = (bench: WorkBench) => bench.sql("UPDATE _System_ConnectorWorkItem SET WorkType = 'other'");
const cover = (bench: WorkBench, count: number) =>
  bench.sql(
    `UPDATE _System_ConnectorWorkItem SET WorkType = 'connector_event' WHERE EventId IN (
      SELECT EventId FROM _System_ConnectorEvent ORDER BY EventId LIMIT ?)`,
    count,
  );

describe('the sweep for Events without a WorkItem', () => {
  test('says how many there are, and that there are none once they are covered', async () => {
    const bench = await openBench();
    await bench.admitSources(1_002);
    uncover(bench);
    const coverage = new CoverageSweep(bench.store, bench.clock, () => undefined);
    let ended = false;
    const run = coverage.run().then(() => {
      ended = true;
    });
    await coverage.check();
    await bench.clock.advance(100);
    await expect(coverage.check()).rejects.toMatchObject({
      code: 'coverage_gap',
      message: expect.stringContaining('1002 Events'),
    });
    cover(bench, 1_001);
    await bench.clock.advance(60_000);
    await expect(coverage.check()).rejects.toThrow('1 Events');
    cover(bench, 1_002);
    await bench.clock.advance(60_000);
    await coverage.check();
    await until(() => ended, 'the sweep ends');
    await run;
  });

  test('waits for a store that fails, and looks then', async () => {
    const bench = await openBench();
    await bench.admitSources(1);
    uncover(bench);
    const errors: unknown[] = [];
    let down = true;
    const store = {
      coverageStep: (cursor: string | null) =>
        down ? Promise.reject(new Error('down')) : bench.store.coverageStep(cursor),
    };
    const coverage = new CoverageSweep(store, bench.clock, (error) => errors.push(error));
    const run = coverage.run();
    await bench.clock.advance(10_000);
    expect(errors.length).toBeGreaterThan(1);
    await coverage.check();
    down = false;
    await bench.clock.advance(60_000);
    await expect(coverage.check()).rejects.toMatchObject({ code: 'coverage_gap' });
    coverage.close();
    await run;
    expect(bench.clock.pending).toBe(0);
  });
});
