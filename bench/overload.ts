/**
 * Three times what the store can take, for a while, from senders who obey Retry-After:
 *
 *   commits of 80 ms, 64 receipts each: 800/s ─▶ 2,400/s for --seconds ─▶ all come back until all are in ─▶ drained in order
 *
 * The best is what full commits of the length they had meanwhile would have taken: on a busy machine they are longer.
 */
import { Child } from './child.js';
import type { BenchDatabase, BenchEngine } from './databases.js';
import { type Figures, figuresOf, median, medianFigures, type Report } from './figures.js';
import type { BenchOptions } from './options.js';
import type { DrainOrder, DrainResult } from './processes/drain-protocol.js';
import type { Ammunition } from './processes/load-generator.js';
import type { Stream, StreamResult } from './processes/open-loop.js';
import type { Commits, SlowStore } from './processes/slow-store-server.js';
import { numberOfDelivery } from './pushes.js';

const COMMIT_MS = 80;
const GROUP = 64;
const NOMINAL_PER_SECOND = (GROUP * 1_000) / COMMIT_MS;
const TIMES = 3;
const WARM_UP_MS = 2_000;
const WORKERS = 64;
const WORK = 'FROM _System_ConnectorWorkItem w JOIN _System_ConnectorEvent e ON e.EventId = w.EventId';

interface Run {
  readonly figures: Figures;
  /** What full commits of the length they had would have taken. */
  readonly bestPerSecond: number;
  /** Accepted while more was offered, in parts of the best. */
  readonly ratio: number;
  readonly stream: StreamResult;
  readonly counts: unknown;
  readonly missing: number;
  readonly violations: number;
}

export async function benchOverload(
  options: BenchOptions,
  engine: BenchEngine,
  say: (line: string) => void,
): Promise<Report> {
  const generator = new Child('open-loop', null);
  const runs: Run[] = [];
  try {
    const { items: requests, lanes: repositories, payloadBytes } = options;
    await generator.ask('load', { requests, repositories, payloadBytes } satisfies Ammunition);
    for (let number = 1; number <= options.runs; number++) {
      const run = await runOnce(options, engine, generator);
      runs.push(run);
      say(
        `run ${number}: ${run.ratio} of the best (${run.bestPerSecond}/s), p99 ${run.figures.p99Ms} ms; ${JSON.stringify(run.counts)}`,
      );
      say(`  refused by second: ${run.stream.refusedBySecond.join(' ')}`);
    }
  } finally {
    await generator.stop();
  }
  return {
    bench: 'overload',
    engine: engine.name,
    runs: runs.map(({ figures, ratio, stream, counts, bestPerSecond }) => ({
      ...figures,
      ratio,
      bestPerSecond,
      refusedBySecond: stream.refusedBySecond,
      untilAllAcceptedMs: Math.round(stream.elapsedMs),
      counts,
    })),
    median: medianFigures(runs.map(({ figures }) => figures)),
    noopPerSecond: null,
    peers: {},
    ratio: median(runs.map(({ ratio }) => ratio)),
    nominalPerSecond: NOMINAL_PER_SECOND,
    offeredPerSecond: TIMES * NOMINAL_PER_SECOND,
    missing: runs.reduce((sum, run) => sum + run.missing, 0),
    orderViolations: runs.reduce((sum, run) => sum + run.violations, 0),
  };
}

async function runOnce(options: BenchOptions, engine: BenchEngine, generator: Child): Promise<Run> {
  const database = await engine.create();
  const server = new Child('slow-store-server', options.profile);
  try {
    const port = await server.ask<number>('listen', {
      databaseUrl: database.url,
      commitMs: COMMIT_MS,
    } satisfies SlowStore);
    const send = (from: number, perSecond: number, forMs: number): Promise<StreamResult> =>
      generator.ask('stream', {
        port,
        connections: options.connections,
        from,
        perSecond,
        measuredMs: forMs,
        obey: true,
        leaveUnsent: false,
      } satisfies Stream);
    const warm = await send(0, NOMINAL_PER_SECOND / 2, WARM_UP_MS);
    const measuredMs = options.seconds * 1_000;
    await server.ask('takeCommits');
    const taken = new Promise<Commits>((resolve, reject) => {
      setTimeout(() => server.ask<Commits>('takeCommits').then(resolve, reject), measuredMs);
    });
    const stream = await send(warm.next, TIMES * NOMINAL_PER_SECOND, measuredMs);
    if (Object.keys(stream.others).length > 0)
      throw new Error(`answers other than 202 and 503: ${JSON.stringify(stream.others)}`);
    const commits = await taken;
    const bestPerSecond = Math.round((commits.count * GROUP * 1_000) / commits.elapsedMs);
    const counts = await server.ask('counts');
    const cpuMicros = await server.cpuMicros();
    await server.stop();
    const violations = await drained(options, database, stream.next);
    return {
      figures: figuresOf({
        operations: stream.acceptedInTime,
        elapsedMs: measuredMs,
        latenciesMs: stream.latenciesMs,
        cpuMicros,
        cpuOperations: stream.accepted.length,
      }),
      bestPerSecond,
      ratio: Math.round((stream.acceptedInTime / ((bestPerSecond * measuredMs) / 1_000)) * 1_000) / 1_000,
      stream,
      counts,
      missing: stream.next - (await completed(database, [...warm.accepted, ...stream.accepted])),
      violations,
    };
  } finally {
    await server.stop();
    await database.drop();
  }
}

/** By the whole product; the order of each lane is that of its commits. */
async function drained({ lanes }: BenchOptions, database: BenchDatabase, items: number): Promise<number> {
  const rows = await database.rows(`SELECT e.DeliveryKey AS DeliveryKey ${WORK} ORDER BY w.LaneOrdinal`);
  const order = rows.map(({ DeliveryKey }) => numberOfDelivery(String(DeliveryKey)));
  const drain = new Child('product-drain', null);
  try {
    const request: DrainOrder = {
      databaseUrl: database.url,
      items,
      lanes,
      workers: WORKERS,
      order,
      metrics: false,
    };
    return (await drain.ask<DrainResult>('drain', request)).violations;
  } finally {
    await drain.stop();
  }
}

async function completed(database: BenchDatabase, accepted: readonly number[]): Promise<number> {
  const rows = await database.rows(
    `SELECT e.DeliveryKey AS DeliveryKey ${WORK} WHERE w.State = 'completed' AND w.Attempt = 1`,
  );
  const done = new Set(rows.map(({ DeliveryKey }) => numberOfDelivery(String(DeliveryKey))));
  return accepted.filter((number) => done.has(number)).length;
}
