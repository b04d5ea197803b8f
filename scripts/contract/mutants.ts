import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { filesBelow } from './files.js';

/** A small named breakage of one product line that a test of its clauses must notice. */
export interface Mutant {
  /** Unique, kebab-case: what breaks. */
  readonly id: string;
  /** Each of them must have a test in `test` that turns red. */
  readonly clauses: readonly string[];
  /** The broken file, relative to the root. */
  readonly file: string;
  /** Occurs exactly once in `file`. */
  readonly find: string;
  readonly replace: string;
  /** The spec that must turn red: `test/…/x.test.ts`. */
  readonly test: string;
  /** Run only tests whose full title contains this. Default: those that name one of the clauses. */
  readonly title?: string;
}

const MUTANT_FOLDER = 'contract/mutants';
const REQUIRED_FIELDS = ['id', 'file', 'find', 'replace', 'test'] as const;

function assertWhole(source: string, mutant: Mutant): void {
  const missing = REQUIRED_FIELDS.filter((field) => typeof mutant[field] !== 'string');
  if (!Array.isArray(mutant.clauses) || mutant.clauses.length === 0) missing.push('clauses' as never);
  if (missing.length > 0)
    throw new Error(`${source}: mutant ${mutant.id ?? '?'} lacks ${missing.join(', ')}`);
}

/** Reads every `contract/mutants/*.json` of the project at `root`; throws on a malformed or repeated mutant. */
export function readMutants(root: string): Mutant[] {
  const all: Mutant[] = [];
  for (const source of filesBelow(root, MUTANT_FOLDER, '.json')) {
    for (const mutant of JSON.parse(readFileSync(join(root, source), 'utf8')) as Mutant[]) {
      assertWhole(source, mutant);
      if (all.some((other) => other.id === mutant.id))
        throw new Error(`mutant ${mutant.id} is defined twice`);
      all.push(mutant);
    }
  }
  return all;
}

/** The text with the mutant's line broken; throws unless `find` occurs exactly once and something changes. */
export function mutate(mutant: Mutant, text: string): string {
  const occurrences = text.split(mutant.find).length - 1;
  if (occurrences !== 1) {
    throw new Error(
      `mutant ${mutant.id}: its line occurs ${occurrences} times in ${mutant.file}, must be once`,
    );
  }
  if (mutant.find === mutant.replace) throw new Error(`mutant ${mutant.id} changes nothing`);
  return text.replace(mutant.find, () => mutant.replace);
}

/** Named by the runner: the mutant that is alive in this process. */
export const MUTANT_VARIABLE = 'LANEHEAD_MUTANT';

/** The mutant that this process runs with, if any. */
export function livingMutant(root: string): Mutant | undefined {
  const id = process.env[MUTANT_VARIABLE];
  if (!id) return undefined;
  const mutant = readMutants(root).find((candidate) => candidate.id === id);
  if (!mutant) throw new Error(`${MUTANT_VARIABLE} names ${id}, which is not in ${MUTANT_FOLDER}`);
  return mutant;
}
