import { readFileSync } from 'node:fs';

/** One test of a report that vitest's JSON reporter wrote. */
export interface TestResult {
  /** Titles of the blocks around it and its own, joined with spaces. */
  readonly fullName: string;
  /** `passed`, `failed`, or one of the words for a test that did not run. */
  readonly status: string;
  readonly failureMessages: readonly string[];
}

interface VitestReport {
  readonly testResults: readonly { readonly assertionResults: readonly TestResult[] }[];
}

export function readResults(file: string): TestResult[] {
  const report = JSON.parse(readFileSync(file, 'utf8')) as VitestReport;
  return report.testResults.flatMap((spec) => spec.assertionResults);
}
