/**
 * npm run contract -- [--mutants] [--only ID]… [--json] [--results FILE] [--jobs N] [--root FOLDER]
 *
 * Prints clause → tests → mutants. Fails when a required clause has no test or no mutant, when a title or a mutant
 * is malformed, with `--results` when no test of a required clause passed in that vitest report, and with
 * `--mutants` when one is not killed. `--only` takes clause ids and mutant ids.
 */
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import setupDatabase from '../../test/support/mariadb-setup.js';
import { type ContractReport, type ContractRow, checkContract, gapsOf, unprovenClauses } from './check.js';
import type { Mutant } from './mutants.js';
import { runMutants } from './run-mutants.js';
import type { Verdict } from './verdict.js';

const { values: options } = parseArgs({
  options: {
    mutants: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true, default: [] },
    json: { type: 'boolean', default: false },
    results: { type: 'string' },
    jobs: { type: 'string', default: String(availableParallelism()) },
    root: { type: 'string', default: '.' },
  },
});
const root = resolve(options.root);
const chosen = (ids: readonly string[]): boolean =>
  options.only.length === 0 || options.only.some((id) => ids.includes(id));

function printRow(row: ContractRow): void {
  console.log(`${row.id.padEnd(7)} ${row.state.padEnd(9)} ${row.summary}`);
  for (const test of row.tests) console.log(`        test    ${test.file}: ${test.title}`);
  for (const mutant of row.mutants)
    console.log(`        mutant  ${mutant.id} (${mutant.file}, ${mutant.test})`);
}

function printVerdict(verdict: Verdict, cached: boolean): void {
  console.log(`${verdict.outcome.padEnd(8)} ${verdict.id}${cached ? ' (cached)' : ''}: ${verdict.detail}`);
}

async function mutantProblems(report: ContractReport): Promise<string[]> {
  const mutants = report.mutants.filter((mutant: Mutant) => chosen([mutant.id, ...mutant.clauses]));
  const endDatabase = await setupDatabase();
  try {
    const verdicts = await runMutants(mutants, {
      root,
      cacheFolder: join(root, 'node_modules/.cache/contract'),
      jobs: Math.max(1, Number(options.jobs)),
      onVerdict: printVerdict,
    });
    const alive = verdicts.filter((verdict) => verdict.outcome !== 'killed');
    return alive.map((verdict) => `mutant ${verdict.id} ${verdict.outcome}: ${verdict.detail}`);
  } finally {
    await endDatabase?.();
  }
}

function printJson(rows: readonly ContractRow[]): void {
  const clauses = rows.map(({ id, state, tests, mutants }) => ({
    id,
    state,
    tests: tests.map((test) => `${test.file}: ${test.title}`),
    mutants: mutants.map((mutant) => mutant.id),
  }));
  console.log(JSON.stringify({ clauses }));
}

async function main(): Promise<void> {
  const report = checkContract(root);
  const rows = report.rows.filter((row) => chosen([row.id, ...row.mutants.map((mutant) => mutant.id)]));
  const problems = [...report.malformed, ...rows.flatMap(gapsOf)];
  if (!options.json) rows.forEach(printRow);
  if (options.results) problems.push(...unprovenClauses(rows, options.results));
  if (options.mutants) problems.push(...(await mutantProblems(report)));
  for (const problem of problems) console.error(`contract: ${problem}`);
  const required = report.rows.filter((row) => row.state === 'required').length;
  console.log(
    `contract: ${report.rows.length} clauses, ${required} required, ${report.mutants.length} mutants, ` +
      `${problems.length} problems`,
  );
  if (options.json) printJson(rows);
  process.exitCode = problems.length > 0 ? 1 : 0;
}

await main();
