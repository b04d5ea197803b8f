import { spawn } from 'node:child_process';
import { add, type Figures, figuresOf } from './figures.js';

export interface Outcome {
  readonly figures: Figures;
  /** With what repeats each of them. */
  readonly problems: readonly string[];
}

export interface Part {
  readonly name: string;
  /** Of the minutes, as a weight. */
  readonly share: number;
  /** Once, with this seed. */
  readonly run: (seed: number) => Promise<Outcome>;
}

interface Finished {
  readonly code: number | null;
  readonly output: string;
}

const SEEDS_AT_ONCE = 400;
const KILLS = 100;
const ROUNDS = 8;
const FUZZ_FACTOR = 10;
/** Whole sizes, 1, take ten minutes. */
const STRESS_FACTOR = 0.3;
const REPORT = /^[\w ,-]+: (\{.*\})$/gm;

const FAULTS = [
  'mariadb-kill',
  'broken-network',
  'odd-server',
  'failing-disk',
  'full-disk',
  'sync-audit',
  'wall-clock-jumps',
];

export const PARTS: readonly Part[] = [
  { name: 'simulation', share: 9, run: simulation },
  ...['sqlite', 'mysql'].map(
    (engine): Part => ({
      name: `kills on ${engine}`,
      share: 3,
      run: (seed) =>
        specs(`test/crash/sigkill-${engine}.test.ts`, {
          LANEHEAD_CRASH_KILLS: KILLS,
          LANEHEAD_CRASH_SEED: seed,
        }),
    }),
  ),
  ...FAULTS.map(
    (name): Part => ({
      name,
      share: 1,
      run: (seed) =>
        specs(`test/crash/${name}.test.ts`, { LANEHEAD_CRASH_ROUNDS: ROUNDS, LANEHEAD_CRASH_SEED: seed }),
    }),
  ),
  {
    name: 'stress',
    share: 2,
    run: () => specs('test/stress', { LANEHEAD_STRESS_FACTOR: STRESS_FACTOR }),
  },
  {
    name: 'fuzzing',
    share: 2,
    run: (seed) => specs('test/fuzz', { LANEHEAD_FUZZ_RUNS: FUZZ_FACTOR, LANEHEAD_FUZZ_SEED: seed }),
  },
  {
    name: 'models',
    share: 2,
    run: (seed) => specs('model.test', { LANEHEAD_FUZZ_RUNS: FUZZ_FACTOR, LANEHEAD_FUZZ_SEED: seed }),
  },
];

async function simulation(seed: number): Promise<Outcome> {
  const args = [
    'run',
    '--silent',
    'sim',
    '--',
    '--json',
    '--jobs',
    2,
    '--seeds',
    SEEDS_AT_ONCE,
    '--seed',
    seed,
  ];
  const { code, output } = await run('npm', args.map(String));
  const report = lastJson(output);
  if (report === null) return { figures: {}, problems: [`the simulation ended with ${code}:\n${output}`] };
  const { failed, violations: _, perSecond: __, ...rest } = report;
  const problems = (failed as { seed: number; invariant: string; replay: string }[]).map(
    (failure) => `seed ${failure.seed}: ${failure.invariant}; ${failure.replay}`,
  );
  return { figures: figuresOf(rest), problems };
}

function lastJson(output: string): Record<string, unknown> | null {
  const line = output.trimEnd().split('\n').at(-1) ?? '';
  return line.startsWith('{') ? (JSON.parse(line) as Record<string, unknown>) : null;
}

/** Specs whose scenarios print one line of report each. */
async function specs(filter: string, variables: Record<string, number>): Promise<Outcome> {
  const environment = Object.fromEntries(
    Object.entries(variables).map(([name, value]) => [name, String(value)]),
  );
  const { code, output } = await run('npx', ['vitest', 'run', filter], environment);
  const figures: Figures = { 'spec runs': 1 };
  for (const [, json] of output.matchAll(REPORT)) add(figures, figuresOf(JSON.parse(json!)));
  if (code === 0) return { figures, problems: [] };
  const repeat = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
  return { figures, problems: [`${repeat.join(' ')} npx vitest run ${filter}\n${output.slice(-6_000)}`] };
}

function run(
  command: string,
  args: readonly string[],
  environment: Record<string, string> = {},
): Promise<Finished> {
  const child = spawn(command, args, {
    env: { ...process.env, NO_COLOR: '1', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += String(text)));
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, output })));
}
