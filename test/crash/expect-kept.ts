import { expect } from 'vitest';
import type { ScenarioReport } from '../support/crash-load.js';

/** More rounds than a test has by itself, for a longer look. */
export const ROUNDS =
  process.env.LANEHEAD_CRASH_ROUNDS === undefined ? undefined : Number(process.env.LANEHEAD_CRASH_ROUNDS);
export const SEED = Number(process.env.LANEHEAD_CRASH_SEED ?? 1);
export const TIMEOUT_MS = 600_000 + 120_000 * (ROUNDS ?? 1);

/** Whatever the fault was: nothing acknowledged is lost, nothing else is stored, and all of it has run in order. */
export function expectKept(scenario: string, report: ScenarioReport): void {
  console.info(`${scenario}: ${JSON.stringify(report)}`);
  expect(report.violations.slice(0, 20)).toEqual([]);
  expect(report.halfStored).toEqual([]);
  expect(report.states).toEqual({ completed: report.events });
  expect(report.events).toBeGreaterThan(0);
}

/** While a store is out its answer is that; a line that forms behind it, or before a busy machine, is refused as overload. */
export function expectUnavailable({ counts }: Pick<ScenarioReport, 'counts'>): void {
  expect(counts.reasons.store_unavailable).toBeGreaterThan(0);
  const { store_unavailable: _out, overloaded: _line, ...others } = counts.reasons;
  expect(others).toEqual({});
}
