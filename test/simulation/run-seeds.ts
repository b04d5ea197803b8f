import { fork } from 'node:child_process';
import { createHash } from 'node:crypto';
import type { SeedOptions } from './options.js';
import { type SimulationReport, simulate } from './simulation.js';

export interface SeedsRun extends SeedOptions {
  readonly first: number;
  readonly count: number;
  /** OS processes. */
  readonly jobs: number;
  readonly bail?: boolean;
}

export interface SeedsReport {
  readonly seeds: number;
  readonly failed: readonly SimulationReport[];
  /** Over the hashes of all seeds, in order. */
  readonly traceHash: string;
  readonly injected: Readonly<Record<string, number>>;
  readonly states: Readonly<Record<string, number>>;
  readonly runs: number;
  readonly events: number;
  readonly virtualSeconds: number;
}

/** What one OS process does of it: every `step`th seed. Sent to it as its argument. */
export interface Share extends SeedOptions {
  readonly seeds: readonly number[];
  readonly bail: boolean;
}

export async function runSeeds(run: SeedsRun, worker: URL): Promise<SeedsReport> {
  const seeds = Array.from({ length: run.count }, (_, place) => run.first + place);
  const { without, bail = false } = run;
  const ops = run.ops === undefined ? {} : { ops: run.ops };
  const shares = Array.from({ length: Math.min(run.jobs, run.count) }, (_, job): Share => {
    return { seeds: seeds.filter((_, place) => place % run.jobs === job), without, bail, ...ops };
  });
  const reports =
    shares.length === 1
      ? [await runShare(shares[0]!)]
      : await Promise.all(shares.map((share) => inProcess(share, worker)));
  return summary(reports.flat().sort((a, b) => a.seed - b.seed));
}

export async function runShare({ seeds, bail, without, ops }: Share): Promise<SimulationReport[]> {
  const reports: SimulationReport[] = [];
  for (const seed of seeds) {
    const report = await simulate({ seed, without, ...(ops === undefined ? {} : { ops }) });
    reports.push(report);
    if (bail && report.violations.length > 0) break;
  }
  return reports;
}

function inProcess(share: Share, worker: URL): Promise<SimulationReport[]> {
  return new Promise((resolve, reject) => {
    const child = fork(worker, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    child.once('message', (reports) => resolve(reports as SimulationReport[]));
    child.once('exit', (code) => reject(new Error(`a process of the simulation ended with ${code}`)));
    child.send(share);
  });
}

function summary(reports: readonly SimulationReport[]): SeedsReport {
  const hash = createHash('sha256');
  for (const { seed, traceHash } of reports) hash.update(`${seed} ${traceHash}\n`);
  const total = (of: (report: SimulationReport) => number): number =>
    reports.reduce((sum, one) => sum + of(one), 0);
  return {
    seeds: reports.length,
    failed: reports.filter(({ violations }) => violations.length > 0),
    traceHash: hash.digest('hex').slice(0, 32),
    injected: added(reports.map(({ injected }) => injected)),
    states: added(reports.map(({ states }) => states)),
    runs: total(({ runs }) => runs),
    events: total(({ events }) => events),
    virtualSeconds: Math.round(total(({ seconds }) => seconds)),
  };
}

function added(counts: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const sum: Record<string, number> = {};
  for (const one of counts)
    for (const [name, count] of Object.entries(one)) sum[name] = (sum[name] ?? 0) + count;
  return Object.fromEntries(Object.entries(sum).sort(([a], [b]) => (a < b ? -1 : 1)));
}
