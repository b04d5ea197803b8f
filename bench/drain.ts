/**
 * A strictly ordered drain by the whole product against the bare loop over the same store, each in a process of its
 * own on a database of its own with the same items. Who goes first changes from run to run.
 */
import { Child } from './child.js';
import type { BenchDatabase, BenchEngine } from './databases.js';
import { type Figures, figuresOf, median, medianFigures, type Report, ratioOf } from './figures.js';
import { fill } from './fill.js';
import type { BenchOptions } from './options.js';
import type { DrainOrder, DrainResult } from './processes/drain-protocol.js';

const CONTESTANTS = { product: 'product-drain', bareLoop: 'bare-loop' } as const;
type Contestant = keyof typeof CONTESTANTS;

interface Outcome {
  readonly figures: Figures;
  readonly violations: number;
  readonly missing: number;
}

type Run = Readonly<Record<Contestant, Outcome>>;

export async function benchDrain(
  options: BenchOptions,
  engine: BenchEngine,
  say: (line: string) => void,
): Promise<Report> {
  const original = engine.name === 'sqlite' ? await filled(options, engine) : null;
  const runs: Run[] = [];
  for (let number = 1; number <= options.runs; number++) {
    const order: Contestant[] = number % 2 === 1 ? ['product', 'bareLoop'] : ['bareLoop', 'product'];
    const outcomes: Partial<Record<Contestant, Outcome>> = {};
    for (const contestant of order) {
      const database = original === null ? await filled(options, engine) : await engine.copy(original)!;
      outcomes[contestant] = await drainOnce(contestant, options, database);
    }
    const run = outcomes as Run;
    runs.push(run);
    say(`run ${number}: ${line(run.product)}; bare loop ${line(run.bareLoop)}; ratio ${ratio(run)}`);
  }
  await original?.drop();
  const bareLoop = medianFigures(runs.map((run) => run.bareLoop.figures));
  const sum = (pick: (outcome: Outcome) => number): number =>
    runs.reduce((total, run) => total + pick(run.product) + pick(run.bareLoop), 0);
  return {
    bench: 'drain',
    engine: engine.name,
    runs: runs.map((run) => ({
      ...run.product.figures,
      bareLoopPerSecond: run.bareLoop.figures.perSecond,
      ratio: ratio(run),
    })),
    median: medianFigures(runs.map((run) => run.product.figures)),
    noopPerSecond: null,
    peers: { bareLoop },
    ratio: median(runs.map(ratio)),
    missing: sum((outcome) => outcome.missing),
    orderViolations: sum((outcome) => outcome.violations),
    items: options.items,
    lanes: options.lanes,
    workers: options.workers,
  };
}

const ratio = (run: Run): number => ratioOf(run.product.figures, run.bareLoop.figures);

const line = ({ figures: { perSecond, p99Ms, cpuMicros } }: Outcome): string =>
  `${perSecond}/s, turns p99 ${p99Ms} ms, CPU ${cpuMicros} µs`;

async function filled(options: BenchOptions, engine: BenchEngine): Promise<BenchDatabase> {
  const database = await engine.create();
  const { items, lanes, payloadBytes } = options;
  await fill({ databaseUrl: database.url, items, lanes, payloadBytes });
  return database;
}

async function drainOnce(
  contestant: Contestant,
  options: BenchOptions,
  database: BenchDatabase,
): Promise<Outcome> {
  const { items, lanes, workers, metrics, profile } = options;
  const child = new Child(CONTESTANTS[contestant], profile);
  try {
    const order: DrainOrder = { databaseUrl: database.url, items, lanes, workers, metrics };
    const before = await child.cpuMicros();
    const { elapsedMs, violations, turnsMs } = await child.ask<DrainResult>('drain', order);
    const cpuMicros = (await child.cpuMicros()) - before;
    await child.stop();
    const figures = figuresOf({
      operations: items,
      elapsedMs,
      latenciesMs: turnsMs,
      cpuMicros,
      cpuOperations: items,
    });
    return { figures, violations, missing: items - (await completed(database)) };
  } finally {
    await child.stop();
    await database.drop();
  }
}

async function completed(database: BenchDatabase): Promise<number> {
  const [row] = await database.rows(
    `SELECT COUNT(*) AS Completed FROM _System_ConnectorWorkItem WHERE State = 'completed' AND Attempt = 1`,
  );
  return Number(row!.Completed);
}
