/**
 * Does a drain slow admission? Over the same backlog, at a fifth of the best rate and whatever the answers take:
 *
 *   run: best rate, nothing drained ─▶ a fifth of it, nothing drained ─▶ a fifth of it, the drain at its budget
 */
import { Child } from './child.js';
import type { BenchDatabase, BenchEngine } from './databases.js';
import { type Figures, figuresOf, median, medianFigures, type Report } from './figures.js';
import { fill } from './fill.js';
import type { BenchOptions } from './options.js';
import type { Ammunition } from './processes/load-generator.js';
import type { Stream, StreamResult } from './processes/open-loop.js';
import type { Both } from './processes/product-both.js';

const PART = 0.2;
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
  readonly refused: number;
}

export async function benchForeground(
  options: BenchOptions,
  engine: BenchEngine,
  say: (line: string) => void,
): Promise<Report> {
  const generator = new Child('open-loop', null);
  const runs: Run[] = [];
  try {
    const requests = Math.ceil((2 * FLOOD_PER_SECOND * (options.seconds * 1_000 + WARM_UP_MS)) / 1_000);
    const { lanes: repositories, payloadBytes } = options;
    const firstDelivery = options.items;
    await generator.ask('load', { requests, repositories, payloadBytes, firstDelivery } satisfies Ammunition);
    for (let number = 1; number <= options.runs; number++) {
      const run = await runOnce(options, engine, generator);
      runs.push(run);
      say(
        `run ${number}: best ${run.bestPerSecond}/s; p99 ${run.beside.p99Ms} ms beside a drain of ` +
          `${run.drainedPerSecond}/s, alone ${run.alone.p99Ms} ms; ratio ${ratio(run)}`,
      );
    }
  } finally {
    await generator.stop();
  }
  return {
    bench: 'foreground',
    engine: engine.name,
    runs: runs.map((run) => ({
      ...run.beside,
      aloneP99Ms: run.alone.p99Ms,
      bestPerSecond: run.bestPerSecond,
      drainedPerSecond: run.drainedPerSecond,
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
    flowMs: FLOW_MS,
  };
}

const ratio = (run: Run): number => Math.round((run.beside.p99Ms / run.alone.p99Ms) * 100) / 100;

async function runOnce(options: BenchOptions, engine: BenchEngine, generator: Child): Promise<Run> {
  const database = await engine.create();
  try {
    const { items, lanes } = options;
    await fill({ databaseUrl: database.url, items, lanes, payloadBytes: BACKLOG_BYTES });
    const best = await phase(options, database, generator, {
      workers: 0,
      from: 0,
      perSecond: FLOOD_PER_SECOND,
    });
    const bestPerSecond = best.figures.perSecond;
    const perSecond = Math.max(1, Math.floor(bestPerSecond * PART));
    const alone = await phase(options, database, generator, { workers: 0, from: best.next, perSecond });
    const beside = await phase(options, database, generator, {
      workers: options.workers,
      from: alone.next,
      perSecond,
    });
    return {
      alone: alone.figures,
      beside: beside.figures,
      bestPerSecond,
      drainedPerSecond: beside.drainedPerSecond,
      refused: alone.refused + beside.refused,
    };
  } finally {
    await database.drop();
  }
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
  readonly refused: number;
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
    const result = await fire(warm.next, seconds * 1_000);
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
      refused: refusedBySecond.reduce((sum, refused) => sum + refused, 0),
    };
  } finally {
    await server.stop();
  }
}
