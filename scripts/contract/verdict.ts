import type { Mutant } from './mutants.js';
import type { TestResult } from './results.js';
import { clausesOf } from './titles.js';

/**
 * killed    every clause of the mutant has a test that ran in the named spec and turned red
 * survived  the spec ran, and a clause of the mutant has no red test
 * invalid   it proves nothing: the spec does not load or end, or its tests are red or absent without the mutant
 */
export interface Verdict {
  readonly id: string;
  readonly outcome: 'killed' | 'survived' | 'invalid';
  /** The titles that turned red, or why it was not killed. */
  readonly detail: string;
}

/** A broken name or broken SQL is a typing error, not a wrong behaviour that a test noticed. */
const TYPING_ERROR =
  /^(?:ReferenceError|SyntaxError)|syntax error|no such (?:column|table)|error in your SQL/;

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** For vitest's `--testNamePattern`: the tests that may kill the mutant. */
export function titlePattern(mutant: Mutant): string {
  return mutant.title ? escaped(mutant.title) : `\\[[^\\]]*\\b(?:${mutant.clauses.join('|')})\\b[^\\]]*\\]`;
}

function thatRan(mutant: Mutant, results: readonly TestResult[]): TestResult[] {
  const pattern = new RegExp(titlePattern(mutant));
  return results.filter(
    ({ status, fullName }) => (status === 'passed' || status === 'failed') && pattern.test(fullName),
  );
}

const clausesNamedBy = (results: readonly TestResult[]): Set<string> =>
  new Set(results.flatMap((result) => clausesOf(result.fullName).ids));

/** Why the spec cannot judge this mutant: what is wrong when the product is whole. `null`: nothing. */
export function baselineProblem(mutant: Mutant, whole: readonly TestResult[] | null): string | null {
  if (whole === null) return `${mutant.test} does not run`;
  const ran = thatRan(mutant, whole);
  const red = ran.find((result) => result.status === 'failed');
  if (red) return `red without it: ${red.fullName}`;
  const named = clausesNamedBy(ran);
  const unnamed = mutant.clauses.filter((clause) => !named.has(clause));
  return unnamed.length > 0 ? `no test that it selects in ${mutant.test} names ${unnamed.join(', ')}` : null;
}

/** The verdict on a run with the mutant alive; `null`: vitest wrote no report. */
export function judge(mutant: Mutant, results: readonly TestResult[] | null): Verdict {
  const { id } = mutant;
  const ran = thatRan(mutant, results ?? []);
  if (ran.length === 0)
    return { id, outcome: 'invalid', detail: 'no test ran: it does not load or does not end' };
  const red = ran.filter((result) => result.status === 'failed');
  const noticed = red.filter((result) => !TYPING_ERROR.test(result.failureMessages.join('\n')));
  if (red.length > 0 && noticed.length === 0) {
    const message = red[0]?.failureMessages[0]?.split('\n')[0] ?? '';
    return { id, outcome: 'invalid', detail: `a typing error: ${message}` };
  }
  const named = clausesNamedBy(noticed);
  const missed = mutant.clauses.filter((clause) => !named.has(clause));
  if (missed.length > 0)
    return { id, outcome: 'survived', detail: `no test of ${missed.join(', ')} turned red` };
  return { id, outcome: 'killed', detail: noticed.map((result) => result.fullName).join('; ') };
}
