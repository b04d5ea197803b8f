import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { filesBelow, hashFiles } from './files.js';
import { MUTANT_VARIABLE, type Mutant } from './mutants.js';
import { readResults, type TestResult } from './results.js';
import { baselineProblem, judge, titlePattern, type Verdict } from './verdict.js';

const RUN_TIMEOUT_MS = 600_000;
const VITEST = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs');

export interface MutantRun {
  readonly root: string;
  /** Verdicts are kept here, under a hash of all they depend on. */
  readonly cacheFolder: string;
  /** Vitest processes at a time, ≥ 1. */
  readonly jobs: number;
  readonly onVerdict?: (verdict: Verdict, cached: boolean) => void;
}

/** Runs one spec in a process of its own; `null` when vitest wrote no report or had to be ended. */
async function runSpec(
  root: string,
  args: readonly string[],
  mutantId: string,
): Promise<TestResult[] | null> {
  const folder = mkdtempSync(join(tmpdir(), 'lanehead-mutant-'));
  const report = join(folder, 'report.json');
  const output = ['--root', root, '--reporter', 'json', '--outputFile', report];
  const child = spawn(process.execPath, [VITEST, 'run', ...args, ...output], {
    cwd: root,
    env: { ...process.env, [MUTANT_VARIABLE]: mutantId },
    stdio: 'ignore',
    timeout: RUN_TIMEOUT_MS,
    killSignal: 'SIGKILL',
  });
  await new Promise((resolve) => child.once('exit', resolve));
  try {
    return readResults(report);
  } catch {
    return null;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function runAlive(root: string, mutant: Mutant): Promise<TestResult[] | null> {
  const args = [mutant.test, '--testNamePattern', titlePattern(mutant)];
  // With several clauses the first red test may not name them all.
  if (mutant.clauses.length === 1) args.push('--bail', '1');
  return runSpec(root, args, mutant.id);
}

/** What every verdict depends on: the product, and what the specs share. */
function sharedHash(root: string): string {
  const helpers = filesBelow(root, 'test', '.ts').filter((file) => !file.endsWith('.test.ts'));
  return hashFiles(root, [...filesBelow(root, 'src', '.ts'), ...helpers]);
}

class VerdictCache {
  readonly #root: string;
  readonly #folder: string;
  readonly #shared: string;

  constructor(root: string, folder: string) {
    this.#root = root;
    this.#folder = folder;
    this.#shared = sharedHash(root);
    mkdirSync(folder, { recursive: true });
  }

  #fileOf(mutant: Mutant): string {
    const parts = JSON.stringify([mutant, hashFiles(this.#root, [mutant.test]), this.#shared]);
    return join(this.#folder, `${createHash('sha256').update(parts).digest('hex')}.json`);
  }

  get(mutant: Mutant): Verdict | undefined {
    try {
      return JSON.parse(readFileSync(this.#fileOf(mutant), 'utf8')) as Verdict;
    } catch {
      return undefined;
    }
  }

  /** An invalid mutant is judged again: its cause may lie outside what the hash covers. */
  put(mutant: Mutant, verdict: Verdict): void {
    if (verdict.outcome !== 'invalid') writeFileSync(this.#fileOf(mutant), JSON.stringify(verdict));
  }
}

/** Lets each mutant live in a vitest process of its own and judges it; verdicts in the order of `mutants`. */
export async function runMutants(mutants: readonly Mutant[], run: MutantRun): Promise<Verdict[]> {
  const cache = new VerdictCache(run.root, run.cacheFolder);
  const baselines = new Map<string, Promise<TestResult[] | null>>();
  const baseline = (spec: string) => {
    const known = baselines.get(spec) ?? runSpec(run.root, [spec], '');
    baselines.set(spec, known);
    return known;
  };
  const verdictOn = async (mutant: Mutant): Promise<Verdict> => {
    const problem = baselineProblem(mutant, await baseline(mutant.test));
    if (problem) return { id: mutant.id, outcome: 'invalid', detail: problem };
    return judge(mutant, await runAlive(run.root, mutant));
  };
  const verdicts: Verdict[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    for (let index = next++; index < mutants.length; index = next++) {
      const mutant = mutants[index]!;
      const known = cache.get(mutant);
      const verdict = known ?? (await verdictOn(mutant));
      cache.put(mutant, verdict);
      verdicts[index] = verdict;
      run.onVerdict?.(verdict, known !== undefined);
    }
  };
  await Promise.all(Array.from({ length: run.jobs }, work));
  return verdicts;
}
