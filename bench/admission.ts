/**
 * Durable admission against a server that does nothing, in turns, over the same connections and requests:
 *
 *   run: fresh database ─▶ both warm up ─▶ product, do-nothing, product, do-nothing ─▶ every acknowledged event is looked up
 */
import { Child } from './child.js';
import type { BenchDatabase, BenchEngine } from './databases.js';
import { type Figures, figuresOf, median, medianFigures, type Report, ratioOf } from './figures.js';
import type { BenchOptions } from './options.js';
import type { Ammunition, Volley, VolleyResult } from './processes/load-generator.js';
import type { ProductOrder } from './processes/product-server.js';
import { numberOfDelivery } from './pushes.js';

const REPOSITORIES = 200;
const TURNS = 2;
const WARM_UP_MS = 2_000;

interface Run {
  readonly product: Figures;
  readonly doNothing: Figures;
  readonly acknowledged: number;
  readonly missing: number;
}

export async function benchAdmission(
  options: BenchOptions,
  engine: BenchEngine,
  say: (line: string) => void,
): Promise<Report> {
  const generator = new Child('load-generator', null);
  const runs: Run[] = [];
  try {
    const { items: requests, payloadBytes } = options;
    await generator.ask('load', { requests, repositories: REPOSITORIES, payloadBytes } satisfies Ammunition);
    for (let number = 1; number <= options.runs; number++) {
      const run = await runOnce(options, engine, generator);
      runs.push(run);
      say(`run ${number}: ${line(run.product)}; do-nothing ${line(run.doNothing)}; ratio ${ratio(run)}`);
    }
  } finally {
    await generator.stop();
  }
  const doNothing = medianFigures(runs.map((run) => run.doNothing));
  return {
    bench: 'admission',
    engine: engine.name,
    runs: runs.map((run) => ({
      ...run.product,
      noopPerSecond: run.doNothing.perSecond,
      ratio: ratio(run),
    })),
    median: medianFigures(runs.map((run) => run.product)),
    noopPerSecond: doNothing.perSecond,
    peers: { doNothing },
    ratio: median(runs.map(ratio)),
    acknowledged: runs.reduce((sum, run) => sum + run.acknowledged, 0),
    missing: runs.reduce((sum, run) => sum + run.missing, 0),
    orderViolations: 0,
    role: 'ingress',
    connections: options.connections,
  };
}

const ratio = (run: Run): number => ratioOf(run.product, run.doNothing);
const line = ({ perSecond, p50Ms, p99Ms, cpuMicros }: Figures): string =>
  `${perSecond}/s p50 ${p50Ms} p99 ${p99Ms} ms, CPU ${cpuMicros} µs`;

type Contestant = 'product' | 'doNothing';

export interface Volleyed extends VolleyResult {
  readonly cpuMicros: number;
}

export async function fire(generator: Child, target: Child, volley: Volley): Promise<Volleyed> {
  const before = await target.cpuMicros();
  const result = await generator.ask<VolleyResult>('fire', volley);
  const cpuMicros = (await target.cpuMicros()) - before;
  if (Object.keys(result.others).length > 0) {
    throw new Error(`answers other than ${volley.expected}: ${JSON.stringify(result.others)}`);
  }
  return { ...result, cpuMicros };
}

async function runOnce(options: BenchOptions, engine: BenchEngine, generator: Child): Promise<Run> {
  const database = await engine.create();
  const product = new Child('product-server', options.profile);
  const doNothing = new Child('do-nothing-server', options.profile);
  try {
    const ports = {
      product: await product.ask<number>('listen', {
        databaseUrl: database.url,
        metrics: options.metrics,
      } satisfies ProductOrder),
      doNothing: await doNothing.ask<number>('listen'),
    };
    const results = { product: [] as Volleyed[], doNothing: [] as Volleyed[] };
    // Turn 0 warms up: the figures are those of a server that has been running, not of its compiler.
    for (let turn = 0; turn <= TURNS; turn++) {
      for (const [name, child] of Object.entries({ product, doNothing }) as [Contestant, Child][]) {
        const volley: Volley = {
          port: ports[name],
          connections: options.connections,
          from: results[name].at(-1)?.next ?? 0,
          again: name === 'doNothing',
          expected: 202,
          measuredMs:
            turn === 0 ? Math.min(WARM_UP_MS, options.seconds * 1_000) : (options.seconds * 1_000) / TURNS,
        };
        results[name].push(await fire(generator, child, volley));
      }
    }
    await product.stop();
    const acknowledged = results.product.flatMap((result) => result.accepted);
    return {
      product: together(results.product.slice(1)),
      doNothing: together(results.doNothing.slice(1)),
      acknowledged: acknowledged.length,
      missing: await countMissing(database, acknowledged),
    };
  } finally {
    await Promise.all([product.stop(), doNothing.stop()]);
    await database.drop();
  }
}

export function together(results: readonly Volleyed[]): Figures {
  const latenciesMs = results.flatMap((result) => result.latenciesMs);
  if (latenciesMs.length === 0)
    throw new Error('no answer in the measured time: fewer --seconds or more --items');
  const sum = (pick: (result: Volleyed) => number): number =>
    results.reduce((total, result) => total + pick(result), 0);
  return figuresOf({
    operations: latenciesMs.length,
    elapsedMs: sum((result) => result.elapsedMs),
    latenciesMs,
    cpuMicros: sum((result) => result.cpuMicros),
    cpuOperations: sum((result) => result.accepted.length),
  });
}

/** Correct before fast: an acknowledged event has its Event and its open WorkItem, or it counts as missing. */
async function countMissing(database: BenchDatabase, acknowledged: readonly number[]): Promise<number> {
  const rows = await database.rows(
    `SELECT e.DeliveryKey AS DeliveryKey FROM _System_ConnectorEvent e
      JOIN _System_ConnectorWorkItem w ON w.EventId = e.EventId AND w.State = 'pending'`,
  );
  const stored = new Set(rows.map((row) => numberOfDelivery(String(row.DeliveryKey))));
  return acknowledged.filter((number) => !stored.has(number)).length;
}
