/**
 * npm test [-- --mutants]
 *
 * Runs every check of the project, all of them even when one fails, and ends with one line that counts. With
 * `--mutants` the contract's mutants live as well.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { relative } from 'node:path';
import { provideMariadb } from '../test/support/mariadb-binary.js';

const RESULTS = 'node_modules/.cache/test-results.json';

interface Step {
  readonly name: string;
  readonly run: () => boolean;
}

const npmRun =
  (script: string, ...args: readonly string[]) =>
  (): boolean =>
    spawnSync('npm', ['run', '--silent', script, '--', ...args], { stdio: 'inherit' }).status === 0;

/** Before the tests, because installing takes longer than a test may. */
function provideDatabase(): boolean {
  try {
    if (!process.env.LANEHEAD_TEST_MYSQL_URL) provideMariadb();
    return true;
  } catch (error) {
    console.error((error as Error).message);
    return false;
  }
}

function cleanBuild(): boolean {
  rmSync('dist', { recursive: true, force: true });
  return npmRun('build')();
}

function runSpecs(): boolean {
  mkdirSync('node_modules/.cache', { recursive: true });
  rmSync(RESULTS, { force: true });
  return npmRun('vitest', '--reporter=default', '--reporter=json', `--outputFile.json=${RESULTS}`)();
}

const STEPS: readonly Step[] = [
  { name: 'database', run: provideDatabase },
  { name: 'build', run: cleanBuild },
  { name: 'lint', run: npmRun('lint') },
  { name: 'typecheck', run: npmRun('typecheck') },
  { name: 'knip', run: npmRun('knip') },
  { name: 'package', run: npmRun('package') },
  { name: 'specs', run: runSpecs },
  {
    name: 'contract',
    run: npmRun(
      'contract',
      '--results',
      RESULTS,
      ...(process.argv.includes('--mutants') ? ['--mutants'] : []),
    ),
  },
];

interface Results {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly testResults: readonly FileResult[];
}

interface FileResult {
  readonly name: string;
  readonly message: string;
  readonly status: string;
  readonly assertionResults: readonly {
    readonly fullName: string;
    readonly status: string;
    readonly failureMessages: readonly string[];
  }[];
}

function readResults(): Results | undefined {
  try {
    return JSON.parse(readFileSync(RESULTS, 'utf8')) as Results;
  } catch {
    return undefined;
  }
}

/** Each failure once more at the end, where a long log is read first. */
function failures({ testResults }: Results): readonly string[] {
  return testResults.flatMap(({ name, status, message, assertionResults }) => {
    const file = relative(process.cwd(), name);
    const failed = assertionResults.filter((test) => test.status === 'failed');
    if (failed.length === 0) return status === 'failed' ? [`${file}: ${message}`] : [];
    return failed.map((test) => `${file}: ${test.fullName}\n${test.failureMessages.join('\n')}`);
  });
}

function countsLine(results: Results | undefined): string {
  if (!results) return 'no test ran';
  const { numPassedTests, numFailedTests, numPendingTests, testResults } = results;
  return `${numPassedTests} passed, ${numFailedTests} failed, ${numPendingTests} skipped in ${testResults.length} files`;
}

function main(): void {
  const startedMs = performance.now();
  const failed = STEPS.filter((step) => {
    console.log(`\n── ${step.name}`);
    return !step.run();
  });
  const seconds = Math.round((performance.now() - startedMs) / 1000);
  const results = readResults();
  for (const failure of results ? failures(results) : []) console.log(`\n✗ ${failure}`);
  const outcome = failed.length === 0 ? 'ok' : `FAILED (${failed.map((step) => step.name).join(', ')})`;
  console.log(`\nnpm test: ${outcome}: ${STEPS.length} steps, tests ${countsLine(results)}, ${seconds} s`);
  process.exitCode = failed.length === 0 ? 0 : 1;
}

main();
