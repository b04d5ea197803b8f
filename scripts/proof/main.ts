/**
 * npm run proof -- [--minutes M] [--seed S] [--only PART]… [--json]
 *
 * Tries to break the promises for M minutes (default 20): simulated seeds, kills on both engines, faults of server,
 * network, disk and clock, fuzzing, models. Every part runs at least once and then again with the next seed while its share of
 * the time lasts. Ends with what was injected and found; exit code 1 when something was.
 */
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { add, type Figures } from './figures.js';
import { PARTS, type Part } from './parts.js';

const { values: options } = parseArgs({
  options: {
    minutes: { type: 'string', default: '20' },
    seed: { type: 'string', default: String(randomInt(1, 2 ** 30)) },
    only: { type: 'string', multiple: true, default: [] },
    json: { type: 'boolean', default: false },
  },
});
const SEEDS_APART = 100_000;

interface Result {
  readonly part: string;
  readonly rounds: number;
  readonly seconds: number;
  readonly figures: Figures;
  readonly problems: readonly string[];
}

async function prove({ name, run }: Part, firstSeed: number, seconds: number): Promise<Result> {
  const startedAt = performance.now();
  const elapsed = (): number => (performance.now() - startedAt) / 1_000;
  const figures: Figures = {};
  const problems: string[] = [];
  let rounds = 0;
  // Another round only if most of it fits, by the rounds so far.
  while (rounds === 0 || elapsed() * (1 + 0.5 / rounds) < seconds) {
    const outcome = await run(firstSeed + rounds * SEEDS_APART);
    add(figures, outcome.figures);
    problems.push(...outcome.problems);
    rounds++;
  }
  return { part: name, rounds, seconds: Math.round(elapsed()), figures, problems };
}

function print({ part, rounds, seconds, figures, problems }: Result): void {
  console.log(`\n── ${part}: ${rounds} rounds, ${seconds} s, ${problems.length} problems`);
  const listed = Object.entries(figures).map(([name, value]) => `${name} ${value}`);
  if (listed.length > 0) console.log(`   ${listed.join(', ')}`);
  for (const problem of problems) console.log(`   ✗ ${problem}`);
}

async function main(): Promise<void> {
  const [minutes, seed] = [Number(options.minutes), Number(options.seed)];
  const parts = PARTS.filter(({ name }) => options.only.length === 0 || options.only.includes(name));
  if (!(minutes > 0) || !Number.isSafeInteger(seed) || parts.length === 0) {
    console.error(
      `--minutes > 0, --seed a whole number, --only one of: ${PARTS.map((p) => p.name).join(', ')}`,
    );
    process.exitCode = 2;
    return;
  }
  const shares = parts.reduce((sum, { share }) => sum + share, 0);
  const results: Result[] = [];
  for (const part of parts) {
    const result = await prove(part, seed, (minutes * 60 * part.share) / shares);
    results.push(result);
    if (!options.json) print(result);
  }
  const found = results.reduce((sum, { problems }) => sum + problems.length, 0);
  if (options.json) console.log(JSON.stringify({ seed, minutes, problems: found, parts: results }));
  else console.log(`\nnpm run proof: ${found === 0 ? 'ok' : 'FAILED'}: seed ${seed}, ${found} problems`);
  process.exitCode = found === 0 ? 0 : 1;
}

await main();
