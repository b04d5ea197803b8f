/** Seeds of the simulation: the real parts on virtual time, with everything going wrong that can. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { mutate } from '../../scripts/contract/mutants.js';
import { FAULT_KINDS } from './faults.js';
import mutants from './mutants.json' with { type: 'json' };
import type { SeedOptions } from './options.js';
import regressions from './regressions.json' with { type: 'json' };
import { runShare } from './run-seeds.js';
import { type SimulationReport, simulate } from './simulation.js';

const ROOT = join(import.meta.dirname, '../..');
const MAIN = join(ROOT, '.tmp/simulation/test/simulation/main.js');
const SEEDS = Number(process.env.LANEHEAD_SIM_SEEDS ?? 300);
const FIRST = 1_000_000;
const TIMEOUT_MS = 60_000 + 2_000 * SEEDS;

interface Regression extends SeedOptions {
  readonly seed: number;
  /** What broke. */
  readonly about: string;
}

const problems = (reports: readonly SimulationReport[]) =>
  reports.flatMap(({ seed, violations }) => violations.slice(0, 1).map((one) => ({ seed, ...one })));

describe('[ADM-1, ADM-2, DRN-2, LIM-1, PRS-2, QCL-1, RSV-1, SCH-2, OWN-1, OWN-2, OWN-5, PRJ-2, PRJ-3, EVO-3, EVO-9, EVO-10, LEG-7, EXE-4, EXE-5] any seed', () => {
  test(
    `keeps every promise, ${SEEDS} times, whatever goes wrong`,
    async () => {
      const seeds = Array.from({ length: SEEDS }, (_, n) => FIRST + n);
      const reports = await runShare({ seeds, without: [], bail: false });
      expect(problems(reports)).toEqual([]);
      const injected = (kind: string): number =>
        reports.reduce((sum, report) => sum + (report.injected[kind] ?? 0), 0);
      expect(FAULT_KINDS.filter((kind) => injected(kind) === 0)).toEqual([]);
      expect(injected('lease_expired')).toBeGreaterThan(0);
      expect(injected('hint_repaired')).toBeGreaterThan(0);
    },
    TIMEOUT_MS,
  );

  test.each(regressions as readonly Regression[])('does not break again: seed $seed, $about', async (one) => {
    expect(problems([await simulate(one)])).toEqual([]);
  });
});

describe('a seed', () => {
  /** In OS processes of their own, as `npm run sim` runs them. */
  const hashOf = (seed: number): string => {
    const args = [MAIN, '--seed', String(seed), '--json'];
    const output = execFileSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' });
    return (JSON.parse(output) as { traceHash: string }).traceHash;
  };

  test('is the same run in every process, and no other seed is', () => {
    execFileSync('npx', ['tsc', '-p', 'test/simulation/tsconfig.json'], { cwd: ROOT });
    expect(hashOf(7)).toBe(hashOf(7));
    expect(hashOf(8)).not.toBe(hashOf(7));
  }, 240_000);

  test('is the same run after others in one process', async () => {
    const first = await simulate({ seed: 9 });
    await simulate({ seed: 10 });
    expect((await simulate({ seed: 9 })).traceHash).toBe(first.traceHash);
    expect((await simulate({ seed: 10 })).traceHash).not.toBe(first.traceHash);
  }, 60_000);
});

describe('mutants', () => {
  test('each break a line that is there, once', () => {
    const broken = mutants.flatMap((mutant) => {
      try {
        mutate({ ...mutant, clauses: [], test: '' }, readFileSync(join(ROOT, mutant.file), 'utf8'));
        return [];
      } catch (error) {
        return [(error as Error).message];
      }
    });
    expect(broken).toEqual([]);
    expect(new Set(mutants.map(({ id }) => id)).size).toBe(mutants.length);
    expect(mutants.length).toBeGreaterThanOrEqual(150);
  });
});
