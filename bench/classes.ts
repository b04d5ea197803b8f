/**
 * How long does urgent work wait behind a bulk backlog? Items of the class `interactive`, and as many of `default`, come in
 * over HTTP while the backlog is drained, at their times and whatever becomes of those before them. Every flow sleeps.
 *
 *   run: profile `reserved`, profile `default-heavy`, and the undivided pool: all in one class, first in first out
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Child } from './child.js';
import type { BenchDatabase, BenchEngine } from './databases.js';
import { type Figures, figuresOf, median, medianFigures, type Report, ratioOf } from './figures.js';
import { fill } from './fill.js';
import type { BenchOptions } from './options.js';
import type { Ammunition } from './processes/load-generator.js';
import type { Stream, StreamResult } from './processes/open-loop.js';
import {
  type ClassedPool,
  type PoolDivision,
  type Start,
  urgentClassOf,
} from './processes/product-classes.js';

const DIVISIONS = ['reserved', 'default-heavy', 'undivided'] as const satisfies readonly PoolDivision[];
const FLOW_MS = 20;
/** Half of them interactive. */
const URGENT_PER_SECOND = 40;
const WARM_UP_MS = 1_000;
/** Keeps the backlog's database small; nothing here depends on it. */
const BACKLOG_BYTES = 512;
const LOOK_EVERY_MS = 100;
const PATIENCE_MS = 600_000;

interface Outcome {
  /** Bulk flows that started in a second, and what interactive items waited from their 202 to their flow. */
  readonly figures: Figures;
  /** The same wait of default items. */
  readonly defaultClass: { readonly p50Ms: number; readonly p99Ms: number };
  /** Of interactive items, from when their request was due. */
  readonly fromDueP99Ms: number;
  /** Of the backlog, when the measured time was over. */
  readonly bulkLeft: number;
  readonly missing: number;
}

type Run = Readonly<Record<PoolDivision, Outcome>>;

export async function benchClasses(
  options: BenchOptions,
  engine: BenchEngine,
  say: (line: string) => void,
): Promise<Report> {
  const generator = new Child('open-loop', null);
  const originals = new Map<boolean, BenchDatabase>();
  const runs: Run[] = [];
  try {
    await generator.ask('load', ammunition(options));
    for (let number = 0; number < options.runs; number++) {
      const outcomes: Partial<Record<PoolDivision, Outcome>> = {};
      for (let turn = 0; turn < DIVISIONS.length; turn++) {
        const division = DIVISIONS[(number + turn) % DIVISIONS.length]!;
        const database = await filled(options, engine, originals, division === 'undivided');
        outcomes[division] = await drainOnce(division, options, database, generator);
        say(`run ${number + 1}, ${division}: ${line(outcomes[division])}`);
      }
      runs.push(outcomes as Run);
    }
  } finally {
    await generator.stop();
    for (const original of originals.values()) await original.drop();
  }
  return report(options, engine, runs);
}

function report(options: BenchOptions, engine: BenchEngine, runs: readonly Run[]): Report {
  const medianOf = (division: PoolDivision): Figures =>
    medianFigures(runs.map((run) => run[division].figures));
  const middle = (pick: (run: Run) => number): number => median(runs.map(pick));
  const more = (division: PoolDivision): object => ({
    ...medianOf(division),
    defaultP50Ms: middle((run) => run[division].defaultClass.p50Ms),
    defaultP99Ms: middle((run) => run[division].defaultClass.p99Ms),
    fromDueP99Ms: middle((run) => run[division].fromDueP99Ms),
    bulkRatio: middle((run) => bulkRatio(run, division)),
  });
  const outcomes = runs.flatMap((run) => Object.values(run));
  return {
    bench: 'classes',
    engine: engine.name,
    runs: runs.map((run) => ({ ...run.reserved.figures, ratio: bulkRatio(run, 'reserved'), ...run })),
    median: medianOf('reserved'),
    noopPerSecond: null,
    peers: { undivided: medianOf('undivided') },
    ratio: middle((run) => bulkRatio(run, 'reserved')),
    ratioOf: 'bulk flows per second to those of the undivided pool',
    divisions: Object.fromEntries(DIVISIONS.map((division) => [division, more(division)])),
    missing: outcomes.reduce((sum, outcome) => sum + outcome.missing, 0),
    orderViolations: 0,
    backlog: options.items,
    workers: options.workers,
    flowMs: FLOW_MS,
  };
}

/** 0 where the backlog was too short to last. */
const bulkRatio = (run: Run, division: PoolDivision): number =>
  run.undivided.figures.perSecond === 0 ? 0 : ratioOf(run[division].figures, run.undivided.figures);

const line = ({ figures, defaultClass, fromDueP99Ms, bulkLeft }: Outcome): string =>
  `interactive p50 ${figures.p50Ms} ms, p99 ${figures.p99Ms} ms (from due ${fromDueP99Ms} ms), ` +
  `default p99 ${defaultClass.p99Ms} ms, bulk ${figures.perSecond}/s, ${bulkLeft} of it left`;

/** The urgent ones come from sources of their own. */
function ammunition({ items, lanes, seconds, payloadBytes }: BenchOptions): Ammunition {
  const requests = 2 * Math.ceil((URGENT_PER_SECOND * (seconds * 1_000 + WARM_UP_MS)) / 1_000);
  return { requests, repositories: requests, payloadBytes, firstDelivery: items, firstRepository: lanes };
}

async function filled(
  { items, lanes }: BenchOptions,
  engine: BenchEngine,
  originals: Map<boolean, BenchDatabase>,
  undivided: boolean,
): Promise<BenchDatabase> {
  const create = async (): Promise<BenchDatabase> => {
    const database = await engine.create();
    const queueClass = undivided ? 'default' : 'bulk';
    await fill({ databaseUrl: database.url, items, lanes, payloadBytes: BACKLOG_BYTES, queueClass });
    return database;
  };
  if (engine.name === 'mysql') return await create();
  if (!originals.has(undivided)) originals.set(undivided, await create());
  return await engine.copy(originals.get(undivided)!)!;
}

async function drainOnce(
  division: PoolDivision,
  { items, workers, seconds, connections, profile }: BenchOptions,
  database: BenchDatabase,
  generator: Child,
): Promise<Outcome> {
  const server = new Child('product-classes', profile);
  try {
    const pool: ClassedPool = {
      databaseUrl: database.url,
      division,
      workers,
      flowMs: FLOW_MS,
      backlog: items,
    };
    const port = await server.ask<number>('listen', pool);
    const fire = (from: number, measuredMs: number): Promise<StreamResult> =>
      generator.ask('stream', {
        port,
        connections,
        from,
        perSecond: URGENT_PER_SECOND,
        measuredMs,
        obey: false,
        leaveUnsent: false,
      } satisfies Stream);
    const { next } = await fire(0, WARM_UP_MS);
    const cpuBefore = await server.cpuMicros();
    const sent = await fire(next, seconds * 1_000);
    const cpuMicros = (await server.cpuMicros()) - cpuBefore;
    const starts = await startsOf(
      server,
      sent.accepted.map((number) => items + number),
    );
    return outcomeOf(items, next, sent, starts, cpuMicros);
  } finally {
    await server.stop();
    await database.drop();
  }
}

/** When the flows started, once all of these have, or nothing more does. */
async function startsOf(server: Child, wanted: readonly number[]): Promise<readonly Start[]> {
  for (let waitedMs = 0; ; waitedMs += LOOK_EVERY_MS) {
    const missing = await server.ask<number>('missing', wanted);
    if (missing === 0 || waitedMs >= PATIENCE_MS) return await server.ask<Start[]>('starts');
    await sleep(LOOK_EVERY_MS);
  }
}

function outcomeOf(
  items: number,
  from: number,
  sent: StreamResult,
  starts: readonly Start[],
  cpuMicros: number,
): Outcome {
  const startOf = new Map(starts.map(({ number, atMs }) => [number, atMs]));
  const until = sent.startedAtMs + sent.elapsedMs;
  const bulk = starts.filter(({ number, atMs }) => number < items && atMs <= until);
  const operations = bulk.filter(({ atMs }) => atMs >= sent.startedAtMs).length;
  const waits = sent.accepted.flatMap((number, place) => {
    const startedAtMs = startOf.get(items + number);
    if (startedAtMs === undefined) return [];
    const dueMs = sent.startedAtMs + ((number - from) * 1_000) / URGENT_PER_SECOND;
    const fromDueMs = startedAtMs - dueMs;
    // A flow may start before its sender has read the answer.
    const fromAnswerMs = Math.max(0, fromDueMs - sent.latenciesMs[place]!);
    return [{ queueClass: urgentClassOf(items + number), fromDueMs, fromAnswerMs }];
  });
  const figures = (queueClass: string, wait: 'fromDueMs' | 'fromAnswerMs'): Figures =>
    figuresOf({
      operations,
      elapsedMs: sent.elapsedMs,
      latenciesMs: waits.filter((one) => one.queueClass === queueClass).map((one) => one[wait]),
      cpuMicros,
      cpuOperations: operations + waits.length,
    });
  return {
    figures: figures('interactive', 'fromAnswerMs'),
    defaultClass: figures('default', 'fromAnswerMs'),
    fromDueP99Ms: figures('interactive', 'fromDueMs').p99Ms,
    bulkLeft: items - bulk.length,
    missing: sent.accepted.length - waits.length,
  };
}
