import { expect, test } from 'vitest';
import { mysqlCrashDatabase, sqliteCrashDatabase } from '../support/crash-database.js';
import { requireFaketime } from '../support/crash-tools.js';
import { expectKept, ROUNDS, SEED, TIMEOUT_MS } from './expect-kept.js';
import { wallClockJumps } from './wall-clock-jumps.js';

const ENGINES = { mysql: mysqlCrashDatabase, sqlite: sqliteCrashDatabase };

for (const [engine, open] of Object.entries(ENGINES)) {
  test(
    `[OWN-3, OWN-5] clocks ±10 min → no early claim, no lease taken from a live process, nothing waits for the clock to come back: ${engine}`,
    async ({ skip }) => {
      requireFaketime(skip);
      const report = await wallClockJumps(await open(), { rounds: ROUNDS ?? 4, seed: SEED });
      expectKept(`wall clock jumps, ${engine}`, report);
      expect(report.figures.early).toBe(0);
      expect(report.expiredLeases).toBe(0);
      expect(report.counts.refused).toBe(0);
    },
    TIMEOUT_MS,
  );
}
