/**
 * What a 503 under overload costs, in CPU time of the server's process, against a server that does nothing: the same
 * requests, in turns, to an ingress whose one place is taken.
 */
import { fire, together, type Volleyed } from './admission.js';
import { Child } from './child.js';
import type { BenchEngine } from './databases.js';
import { type Figures, median, medianFigures, type Report } from './figures.js';
import type { BenchOptions } from './options.js';
import type { Ammunition } from './processes/load-generator.js';

const TURNS = 2;
const WARM_UP_MS = 2_000;
const CONTESTANTS = { shed: 503, doNothing: 202 } as const;
type Contestant = keyof typeof CONTESTANTS;
type Run = Readonly<Record<Contestant, Figures>>;

export async function benchShed(
  options: BenchOptions,
  engine: BenchEngine,
  say: (line: string) => void,
): Promise<Report> {
  const generator = new Child('load-generator', null);
  const runs: Run[] = [];
  try {
    const { items: requests, payloadBytes } = options;
    await generator.ask('load', { requests, repositories: 1, payloadBytes } satisfies Ammunition);
    for (let number = 1; number <= options.runs; number++) {
      const run = await runOnce(options, generator);
      runs.push(run);
      say(
        `run ${number}: CPU ${run.shed.cpuMicros} µs; do-nothing ${run.doNothing.cpuMicros} µs; ratio ${ratio(run)}`,
      );
    }
  } finally {
    await generator.stop();
  }
  const doNothing = medianFigures(runs.map((run) => run.doNothing));
  return {
    bench: 'shed',
    engine: engine.name,
    runs: runs.map((run) => ({
      ...run.shed,
      doNothingCpuMicros: run.doNothing.cpuMicros,
      ratio: ratio(run),
    })),
    median: medianFigures(runs.map((run) => run.shed)),
    noopPerSecond: doNothing.perSecond,
    peers: { doNothing },
    ratio: median(runs.map(ratio)),
    ratioOf: 'CPU time for one request',
    missing: 0,
    orderViolations: 0,
    connections: options.connections,
  };
}

const ratio = (run: Run): number =>
  Math.round((run.shed.cpuMicros / run.doNothing.cpuMicros) * 1_000) / 1_000;

async function runOnce(options: BenchOptions, generator: Child): Promise<Run> {
  const children = {
    shed: new Child('shed-server', options.profile),
    doNothing: new Child('do-nothing-server', options.profile),
  };
  try {
    const ports = {
      shed: await children.shed.ask<number>('listen'),
      doNothing: await children.doNothing.ask<number>('listen'),
    };
    const results: Record<Contestant, Volleyed[]> = { shed: [], doNothing: [] };
    const measuredMs = (options.seconds * 1_000) / TURNS;
    for (let turn = 0; turn <= TURNS; turn++) {
      for (const name of Object.keys(CONTESTANTS) as Contestant[]) {
        const volley = {
          port: ports[name],
          connections: options.connections,
          from: 0,
          again: true,
          measuredMs: turn === 0 ? Math.min(WARM_UP_MS, measuredMs) : measuredMs,
          expected: CONTESTANTS[name],
        };
        results[name].push(await fire(generator, children[name], volley));
      }
    }
    return { shed: together(results.shed.slice(1)), doNothing: together(results.doNothing.slice(1)) };
  } finally {
    await Promise.all(Object.values(children).map((child) => child.stop()));
  }
}
