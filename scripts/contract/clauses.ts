import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** One promise of the contract. `required`: must have a test and a mutant now. `later`: known, not built yet. */
export interface Clause {
  readonly id: string;
  readonly state: 'required' | 'later';
  readonly summary: string;
}

/** `OWN-3`: three capitals and a number. */
export const CLAUSE_ID = /^[A-Z]{3}-[1-9]\d*$/;
const CLAUSE_LIST = 'contract/clauses.json';

/** Reads `contract/clauses.json` of the project at `root`; throws on a malformed or repeated entry. */
export function readClauses(root: string): Clause[] {
  const clauses = JSON.parse(readFileSync(join(root, CLAUSE_LIST), 'utf8')) as Clause[];
  const seen = new Set<string>();
  for (const clause of clauses) {
    const whole = CLAUSE_ID.test(clause.id) && ['required', 'later'].includes(clause.state) && clause.summary;
    if (!whole) throw new Error(`${CLAUSE_LIST}: malformed entry ${JSON.stringify(clause)}`);
    if (seen.has(clause.id)) throw new Error(`${CLAUSE_LIST}: ${clause.id} appears twice`);
    seen.add(clause.id);
  }
  return clauses;
}
