/**
 * npm run sim:mutants [-- --only ID …] [--seeds N] [--jobs J] [--json]
 *
 * Breaks one line of the product at a time and lets the simulation look for it: seed after seed until it is caught,
 * then on over the same number, to tell how often. A survivor is a hole in the simulation.
 */
import { fork } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import ts from 'typescript';
import { mutate } from '../../scripts/contract/mutants.js';
import type { Share } from './run-seeds.js';
import { type SimulationReport, simulate } from './simulation.js';

interface Mutant {
  readonly id: string;
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

interface Verdict {
  readonly id: string;
  /** Seeds that were run, and that noticed. */
  readonly seeds: number;
  readonly caught: number;
  /** By how many seeds each. */
  readonly invariants: Readonly<Record<string, number>>;
  /** The process ended by itself: it does not load, or it hangs. */
  readonly broken?: string;
}

/** The working folder, as npm sets it. */
const ROOT = process.cwd();
const COMPILED = join(ROOT, '.tmp/simulation');
const PROCESS = new URL('./mutant-process.js', import.meta.url);
const FIRST_SEED = 5_000_000;
/** Seeds of one process: the first share is small, because most are caught at once. */
const SHARES = [20, 60, 120, 200, 400, 800];
const PROCESS_MS = 600_000;

function readMutants(): readonly Mutant[] {
  return JSON.parse(readFileSync(join(ROOT, 'test/simulation/mutants.json'), 'utf8')) as Mutant[];
}

function brokenModule(mutant: Mutant): string {
  const text = mutate({ clauses: [], test: '', ...mutant }, readFileSync(join(ROOT, mutant.file), 'utf8'));
  const { outputText } = ts.transpileModule(text, {
    compilerOptions: {
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.ESNext,
      verbatimModuleSyntax: true,
    },
  });
  return outputText;
}

async function live(mutant: Mutant, mostSeeds: number): Promise<Verdict> {
  try {
    return await liveWith(mutant, brokenModule(mutant), mostSeeds);
  } catch (error) {
    return { id: mutant.id, seeds: 0, caught: 0, invariants: {}, broken: (error as Error).message };
  }
}

async function liveWith(mutant: Mutant, module: string, mostSeeds: number): Promise<Verdict> {
  const folder = mkdtempSync(join(tmpdir(), 'lanehead-mutant-'));
  const source = join(folder, 'broken.mjs');
  writeFileSync(source, module);
  const url = pathToFileURL(join(COMPILED, mutant.file.replace(/\.ts$/, '.js'))).href;
  try {
    return await hunt(mutant.id, mostSeeds, (share) => inProcess([url, source, JSON.stringify(share)]));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Without a mutant. All mutants meet the same seeds. */
const clean = new Map<number, Promise<boolean>>();

function isClean(seed: number): Promise<boolean> {
  const known = clean.get(seed) ?? simulate({ seed }).then(({ violations }) => violations.length === 0);
  clean.set(seed, known);
  return known;
}

type RunShare = (share: Share) => Promise<readonly SimulationReport[] | string>;

async function hunt(id: string, mostSeeds: number, run: RunShare): Promise<Verdict> {
  let seeds = 0;
  let caught = 0;
  const invariants: Record<string, number> = {};
  for (const size of SHARES) {
    if (caught > 0 || seeds >= mostSeeds) break;
    const numbers = Array.from(
      { length: Math.min(size, mostSeeds - seeds) },
      (_, n) => FIRST_SEED + seeds + n,
    );
    const reports = await run({ seeds: numbers, without: [], bail: false });
    if (typeof reports === 'string') return { id, seeds, caught, invariants, broken: reports };
    seeds += reports.length;
    for (const { seed, violations } of reports) {
      if (violations.length === 0) continue;
      if (!(await isClean(seed))) throw new Error(`seed ${seed} is red without a mutant`);
      caught++;
      const { kind } = violations[0]!;
      invariants[kind] = (invariants[kind] ?? 0) + 1;
    }
  }
  return { id, seeds, caught, invariants };
}

function inProcess(args: readonly string[]): Promise<readonly SimulationReport[] | string> {
  return new Promise((resolve) => {
    const child = fork(PROCESS, args, {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      timeout: PROCESS_MS,
      killSignal: 'SIGKILL',
    });
    let errors = '';
    child.stderr!.on('data', (text) => {
      errors += text;
    });
    child.once('message', (reports) => resolve(reports as SimulationReport[]));
    child.once('exit', (code, signal) => resolve(`ended with ${code ?? signal}: ${errors.slice(-500)}`));
  });
}

function describe({ id, seeds, caught, invariants, broken }: Verdict): string {
  if (broken !== undefined) return `✗ ${id}: ${broken}`;
  if (caught === 0) return `✗ ${id}: survived ${seeds} seeds`;
  const by = Object.entries(invariants).sort(([, a], [, b]) => b - a);
  return `✓ ${id}: in ${caught} of ${seeds} seeds, by ${by.map(([kind, count]) => `${kind} ${count}`).join(', ')}`;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', multiple: true, default: [] },
      seeds: { type: 'string', default: '800' },
      jobs: { type: 'string', default: '2' },
      json: { type: 'boolean', default: false },
    },
  });
  const all = readMutants().filter(({ id }) => values.only.length === 0 || values.only.includes(id));
  const waiting = [...all];
  const verdicts: Verdict[] = [];
  const work = async (): Promise<void> => {
    for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
      const verdict = await live(mutant, Number(values.seeds));
      verdicts.push(verdict);
      if (!values.json) console.log(describe(verdict));
    }
  };
  await Promise.all(Array.from({ length: Number(values.jobs) }, work));
  const caught = verdicts.filter((one) => one.caught > 0).length;
  if (values.json) console.log(JSON.stringify({ mutants: all.length, caught, verdicts }));
  else console.log(`${caught} of ${all.length} mutants caught`);
  process.exitCode = caught === all.length && all.length > 0 ? 0 : 1;
}

await main();
