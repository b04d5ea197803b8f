/**
 * Does a drain slow admission? Over the same backlog, at a part of the best rate and whatever the answers take:
 *
 *   run: best rate, nothing drained ─▶ that part of it, nothing drained ─▶ that part of it, the drain at its budget
 *
 * Which of the last two goes first changes from run to run.
 */
import { Child } from './child.js';
import type { BenchDatabase, BenchEngine } from './databases.js';
import { type Figures, figuresOf, median, medianFigures, type Report } from './figures.js';
import { fill } from './fill.js';
import type { BenchOptions } from './options.js';
import type { Ammunition } from './processes/load-generator.js';
import type { Stream, StreamResult } from './processes/open-loop.js';
import type { Both } from './processes/product-both.js';

const FLOW_MS = 5;
/** More than any admission takes. */
const FLOOD_PER_SECOND = 8_000;
const WARM_UP_MS = 1_000;
/** Keeps the database of a large backlog small. */
const BACKLOG_BYTES = 512;

interface Run {
  readonly alone: Figures;
  readonly beside: Figures;
  readonly bestPerSecond: number;
  readonly drainedPerSecond: number;
  readonly processing: number;
  readonly refused: number;
}

export async function benchForeground(
  options: BenchOptions,
  engine: BenchEngine,
  say: (line: string) => void,
): Promise<Report> {
  const generator = new Child('open-loop', null);
  const runs: Run[] = [];
  const { items, lanes } = options;
  const database = await engine.create();
  try {
    await fill({ databaseUrl: database.url, items, lanes, payloadBytes: BACKLOG_BYTES });
    for (let number = 1; number <= options.runs; number++) {
      const run = await runOnce(options, database, generator, number);
      runs.push(run);
      say(
        `run ${number}: best ${run.bestPerSecond}/s; p99 ${run.beside.p99Ms} ms beside a drain of ` +
          `${run.drainedPerSecond}/s with ${run.processing} in processing, alone ${run.alone.p99Ms} ms; ratio ${ratio(run)}`,
      );
    }
  } finally {
    await generator.stop();
    await database.drop();
  }
  return {
    bench: 'foreground',
    engine: engine.name,
    runs: runs.map((run) => ({
      ...run.beside,
      aloneP99Ms: run.alone.p99Ms,
      bestPerSecond: run.bestPerSecond,
      drainedPerSecond: run.drainedPerSecond,
      processing: run.processing,
      refused: run.refused,
      ratio: ratio(run),
    })),
    median: medianFigures(runs.map((run) => run.beside)),
    noopPerSecond: null,
    peers: { alone: medianFigures(runs.map((run) => run.alone)) },
    ratio: median(runs.map(ratio)),
    ratioOf: 'p99 with the drain to p99 without it',
    missing: 0,
    orderViolations: 0,
    backlog: options.items,
    workers: options.workers,
    share: options.share,
    flowMs: FLOW_MS,
  };
}

const ratio = (run: Run): number => Math.round((run.beside.p99Ms / run.alone.p99Ms) * 100) / 100;

/** On what the runs before have left: a thousandth of the backlog drained, and as much admitted. */
async function runOnce(
  options: BenchOptions,
  database: BenchDatabase,
  generator: Child,
  number: number,
): Promise<Run> {
  const requests = Math.ceil((2 * FLOOD_PER_SECOND * (options.seconds * 1_000 + WARM_UP_MS)) / 1_000);
  const { lanes: repositories, payloadBytes } = options;
  const firstDelivery = options.items + number * requests;
  await generator.ask('load', { requests, repositories, payloadBytes, firstDelivery } satisfies Ammunition);
  const best = await phase(options, database, generator, {
    workers: 0,
    from: 0,
    perSecond: FLOOD_PER_SECOND,
  });
  const bestPerSecond = best.figures.perSecond;
  const perSecond = Math.max(1, Math.floor(bestPerSecond * options.share));
  const phases: Partial<Record<'alone' | 'beside', Outcome>> = {};
  let from = best.next;
  for (const name of number % 2 === 1 ? (['alone', 'beside'] as const) : (['beside', 'alone'] as const)) {
    const workers = name === 'alone' ? 0 : options.workers;
    const outcome = await phase(options, database, generator, { workers, from, perSecond });
    phases[name] = outcome;
    from = outcome.next;
  }
  const { alone, beside } = phases as Required<typeof phases>;
  return {
    alone: alone.figures,
    beside: beside.figures,
    bestPerSecond,
    drainedPerSecond: beside.drainedPerSecond,
    processing: beside.processing,
    refused: alone.refused + beside.refused,
  };
}

interface Phase {
  readonly workers: number;
  /** Number of the first request. */
  readonly from: number;
  readonly perSecond: number;
}

interface Outcome {
  readonly figures: Figures;
  readonly next: number;
  readonly drainedPerSecond: number;
  /** Rows in processing, the median of a look a second. */
  readonly processing: number;
  readonly refused: number;
}

const PROCESSING = `SELECT COUNT(*) AS Processing FROM _System_ConnectorWorkItem
  WHERE PackId IN (SELECT PackId FROM _System_InstalledPack) AND WorkType = 'connector_event' AND Bucket = 'processing'`;
const LOOK_MS = 1_000;

/** Looks as long as `work` takes. @returns its result, and what was seen */
async function looking<T>(database: BenchDatabase, work: Promise<T>): Promise<[T, number]> {
  const seen: number[] = [];
  const look = async (): Promise<void> => {
    const [row] = await database.rows(PROCESSING);
    seen.push(Number(row!.Processing));
  };
  const looks: Promise<void>[] = [];
  const timer = setInterval(() => looks.push(look()), LOOK_MS);
  try {
    const result = await work;
    await Promise.all(looks);
    return [result, median(seen)];
  } finally {
    clearInterval(timer);
  }
}

async function phase(
  { connections, seconds, profile }: BenchOptions,
  database: BenchDatabase,
  generator: Child,
  { workers, from, perSecond }: Phase,
): Promise<Outcome> {
  const server = new Child('product-both', profile);
  const fire = (first: number, measuredMs: number) =>
    generator.ask<StreamResult>('stream', {
      port,
      connections,
      from: first,
      perSecond,
      measuredMs,
      obey: false,
      leaveUnsent: true,
    } satisfies Stream);
  const both: Both = { databaseUrl: database.url, workers, flowMs: FLOW_MS };
  const port = await server.ask<number>('listen', both);
  try {
    const warm = await fire(from, WARM_UP_MS);
    const [cpuBefore, startedBefore] = [await server.cpuMicros(), await server.ask<number>('started')];
    const [result, processing] = await looking(database, fire(warm.next, seconds * 1_000));
    const started = (await server.ask<number>('started')) - startedBefore;
    const { accepted, latenciesMs, elapsedMs, next, refusedBySecond } = result;
    return {
      figures: figuresOf({
        operations: accepted.length,
        elapsedMs,
        latenciesMs,
        cpuMicros: (await server.cpuMicros()) - cpuBefore,
        cpuOperations: accepted.length,
      }),
      next,
      drainedPerSecond: Math.round((started / elapsedMs) * 1_000),
      processing,
      refused: refusedBySecond.reduce((sum, refused) => sum + refused, 0),
    };
  } finally {
    await server.stop();
  }
}
