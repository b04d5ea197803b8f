import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Clause, readClauses } from './clauses.js';
import { type Mutant, mutate, readMutants } from './mutants.js';
import { readResults } from './results.js';
import { clausesOf, collectTests, type TitledTest } from './titles.js';

export interface ContractRow extends Clause {
  readonly tests: readonly TitledTest[];
  readonly mutants: readonly Mutant[];
}

export interface ContractReport {
  readonly rows: readonly ContractRow[];
  readonly mutants: readonly Mutant[];
  /** Malformed titles and mutants, one sentence each. */
  readonly malformed: readonly string[];
}

function titleProblems(tests: readonly TitledTest[], known: ReadonlySet<string>): string[] {
  return tests.flatMap((test) => {
    const { ids, malformed } = clausesOf(test.title);
    return [
      ...malformed.map((list) => `${test.file}: [${list}] must list whole ids: [OWN-3] or [OWN-3, OWN-5]`),
      ...ids.filter((id) => !known.has(id)).map((id) => `${test.file}: [${id}] is not in the clause list`),
    ];
  });
}

function mutantProblems(root: string, mutants: readonly Mutant[], known: ReadonlySet<string>): string[] {
  return mutants.flatMap((mutant) => {
    const problems = mutant.clauses
      .filter((id) => !known.has(id))
      .map((id) => `mutant ${mutant.id}: ${id} is not in the clause list`);
    try {
      mutate(mutant, readFileSync(join(root, mutant.file), 'utf8'));
      readFileSync(join(root, mutant.test));
    } catch (error) {
      problems.push((error as Error).message);
    }
    return problems;
  });
}

/** What a required clause lacks, one sentence each. */
export function gapsOf(row: ContractRow): string[] {
  if (row.state === 'later') return [];
  const missing: string[] = [];
  if (row.tests.length === 0) missing.push(`${row.id} is required and no test names it`);
  if (row.mutants.length === 0) missing.push(`${row.id} is required and no mutant breaks it`);
  return missing;
}

/** Reads clause list, test titles and mutants of the project at `root` and holds them against each other. */
export function checkContract(root: string): ContractReport {
  const clauses = readClauses(root);
  const mutants = readMutants(root);
  const tests = collectTests(root);
  const known = new Set(clauses.map((clause) => clause.id));
  const rows = clauses.map((clause) => ({
    ...clause,
    tests: tests.filter((test) => test.clauses.includes(clause.id)),
    mutants: mutants.filter((mutant) => mutant.clauses.includes(clause.id)),
  }));
  const malformed = [...titleProblems(tests, known), ...mutantProblems(root, mutants, known)];
  return { rows, mutants, malformed };
}

/** Clauses that are required and of which no test passed in `resultsFile`, a report of vitest's JSON reporter. */
export function unprovenClauses(rows: readonly ContractRow[], resultsFile: string): string[] {
  const results = readResults(resultsFile);
  const passed = results.filter((result) => result.status === 'passed');
  const proven = new Set(passed.flatMap((result) => clausesOf(result.fullName).ids));
  return rows
    .filter((row) => row.state === 'required' && !proven.has(row.id))
    .map((row) => `${row.id} is required and no test that names it passed`);
}
