/** npm run sim -- [--seeds N] [--seed S] [--ops K] [--json] …; see options.ts. */

import { parseOptions, type RunOptions, replayOf, USAGE } from './options.js';
import { runSeeds, type SeedsReport } from './run-seeds.js';
import { shrink } from './shrink.js';
import type { SimulationReport } from './simulation.js';
import { simulate } from './simulation.js';

const WORKER = new URL('./worker.js', import.meta.url);
/** Shrinking takes some dozen runs each; the first failures are enough to begin with. */
const MOST_SHRUNK = 5;

interface Failure {
  readonly seed: number;
  readonly invariant: string;
  readonly why: string;
  readonly replay: string;
}

async function failureOf(report: SimulationReport, place: number, options: RunOptions): Promise<Failure> {
  const { kind, item, why } = report.violations[0]!;
  const smaller = options.shrink && place < MOST_SHRUNK ? await shrink(report, options) : options;
  return {
    seed: report.seed,
    invariant: kind,
    why: `${item}: ${why}`,
    replay: replayOf(report.seed, smaller),
  };
}

async function failuresOf({ failed }: SeedsReport, options: RunOptions): Promise<readonly Failure[]> {
  const failures: Failure[] = [];
  for (const [place, report] of failed.entries()) failures.push(await failureOf(report, place, options));
  return failures;
}

function print(report: SeedsReport, failed: readonly Failure[], seconds: number, json: boolean): void {
  const { seeds, traceHash, injected, states, runs, virtualSeconds } = report;
  const perSecond = Math.round(seeds / seconds);
  if (json) {
    const figures = { injected, states, runs, virtualSeconds, perSecond };
    console.log(JSON.stringify({ seeds, violations: failed.length, traceHash, failed, ...figures }));
    return;
  }
  for (const { seed, invariant, why, replay } of failed)
    console.log(`seed ${seed}: ${invariant}: ${why}\n  ${replay}`);
  console.log(`${seeds} seeds, ${failed.length} with violations, trace ${traceHash}, ${perSecond} seeds/s`);
  console.log(`${runs} runs of flows in ${virtualSeconds} virtual seconds; items: ${listed(states)}`);
  console.log(`injected: ${listed(injected)}`);
}

const listed = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ');

async function trace({ first, without, ops }: RunOptions): Promise<void> {
  const onNote = (line: string): void => console.log(line);
  await simulate({ seed: first, without, onNote, ...(ops === undefined ? {} : { ops }) });
}

async function main(): Promise<void> {
  let options: RunOptions;
  try {
    options = parseOptions(process.argv.slice(2));
  } catch (error) {
    console.error(`${(error as Error).message}\n${USAGE}`);
    process.exitCode = 2;
    return;
  }
  if (options.trace) return await trace(options);
  const startedAt = performance.now();
  const report = await runSeeds(options, WORKER);
  const seconds = (performance.now() - startedAt) / 1_000;
  const failed = await failuresOf(report, options);
  print(report, failed, seconds, options.json);
  process.exitCode = failed.length === 0 ? 0 : 1;
}

await main();
