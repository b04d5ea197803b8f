/**
 * One scenario with real faults: a database, processes that serve it, providers that send to it, and the account of
 * what was done to them. What happened is judged at the end by the history checker.
 */
import { CrashBench, eventually, SECRET } from './crash-bench.js';
import { type CrashDatabase, halfStored, itemRows } from './crash-database.js';
import type { Behaviour, ServerProcess } from './crash-process.js';
import { type SenderCounts, type SenderOptions, Senders } from './crash-senders.js';
import type { Violation } from './history.js';
import { checkHistory } from './history-checker.js';
import { seededRandom } from './interleavings.js';

export interface ScenarioOptions {
  readonly rounds: number;
  readonly seed: number;
  /** Goes on for so long, however many rounds that makes. */
  readonly minutes?: number;
}

export interface LoadOptions extends Partial<SenderOptions> {
  readonly sources: number;
  /** With so many events acknowledged and not finished, new deliveries wait. */
  readonly mostOpen?: number;
}

export interface ScenarioReport {
  readonly rounds: number;
  /** What was done to the system, counted by kind. */
  readonly faults: Readonly<Record<string, number>>;
  /** By kind, the longest time from the end of the fault until deliveries are accepted and flows finish again. */
  readonly slowestRecoveryMs: Readonly<Record<string, number>>;
  readonly events: number;
  readonly runs: number;
  readonly expiredLeases: number;
  readonly tornLines: number;
  readonly counts: SenderCounts;
  /** States of all items, counted. */
  readonly states: Readonly<Record<string, number>>;
  /** What a scenario counts beside that. */
  readonly figures: Readonly<Record<string, number>>;
  readonly halfStored: readonly string[];
  readonly violations: readonly Violation[];
  readonly seconds: number;
}

/** A life with this much going on has admissions in flight and leases held. */
const LEAST_BUSY = 3;
const RECOVERED_ANSWERS = 3;
/** Admission outruns flows that sleep; what is left at the end has to be drained too. */
const MOST_OPEN = 500;
/** Most flows are short; the long ones make sure that a fault finds some in the middle. */
const FLOW_MS = { short: 10, long: 250, longShare: 0.25 };

function someLong(random: () => number): Behaviour {
  return { kind: 'wait', ms: random() < FLOW_MS.longShare ? FLOW_MS.long : FLOW_MS.short };
}

export class CrashLoad {
  readonly bench: CrashBench;
  readonly senders: Senders;
  readonly random: () => number;
  readonly figures: Record<string, number> = {};
  readonly #options: ScenarioOptions;
  readonly #faults: Record<string, number> = {};
  readonly #slowest: Record<string, number> = {};
  readonly #startedAt = performance.now();
  #rounds = 0;
  /** Where nothing can finish, deliveries do not wait for it. */
  #refusing = false;

  constructor(
    database: CrashDatabase,
    options: ScenarioOptions,
    { mostOpen = MOST_OPEN, ...load }: LoadOptions,
  ) {
    this.bench = new CrashBench(database);
    this.random = seededRandom(options.seed);
    this.#options = options;
    this.senders = new Senders({
      secret: SECRET,
      random: this.random,
      behaviour: someLong,
      mayGoOn: () => this.#refusing || this.#open() < mostOpen,
      ...load,
    });
  }

  *rounds(): Generator<number> {
    const { rounds, minutes } = this.#options;
    const until = this.#startedAt + (minutes ?? 0) * 60_000;
    const goesOn = () => (minutes === undefined ? this.#rounds < rounds : performance.now() < until);
    while (goesOn()) yield ++this.#rounds;
  }

  fault(kind: string, times = 1): void {
    this.#faults[kind] = (this.#faults[kind] ?? 0) + times;
  }

  /** Waits for a condition under load, and fails at once when the load itself has failed. */
  async until(condition: () => boolean, what: string): Promise<void> {
    await eventually(() => {
      if (this.senders.failure !== null) throw this.senders.failure;
      return condition();
    }, what);
  }

  /** Admissions are in flight, and the process holds leases. */
  async busy(process: ServerProcess, answers = 1): Promise<void> {
    const { counts } = this.senders;
    const enough = counts.answers + answers;
    await this.until(() => {
      const flows = this.bench.ledger.live(process.name).length;
      return Math.min(flows, this.senders.inFlight) >= LEAST_BUSY && counts.answers >= enough;
    }, `${process.name} serves under load`);
  }

  /** So many more requests are refused. @returns how many deliveries were accepted meanwhile */
  async refused(answers: number): Promise<number> {
    const { counts } = this.senders;
    const { accepted, refused } = counts;
    this.#refusing = true;
    await this.until(() => counts.refused >= refused + answers, `${answers} requests are refused`);
    this.#refusing = false;
    return counts.accepted - accepted;
  }

  /** Deliveries are accepted and flows finish again. @param since when the fault was over, monotonic */
  async recovered(kind: string, since = performance.now()): Promise<void> {
    const { counts } = this.senders;
    const accepted = counts.accepted + RECOVERED_ANSWERS;
    const finished = this.bench.ledger.finished() + RECOVERED_ANSWERS;
    await this.until(
      () => counts.accepted >= accepted && this.bench.ledger.finished() >= finished,
      `recovery from ${kind}`,
    );
    this.#slowest[kind] = Math.max(this.#slowest[kind] ?? 0, Math.round(performance.now() - since));
  }

  /** No new deliveries; what is under way is answered and drained by this process, which then ends by itself. */
  async finish(process: ServerProcess): Promise<void> {
    this.senders.pointTo(await process.url());
    await this.senders.finish();
    await process.drained();
    await ended(process);
  }

  async report(): Promise<ScenarioReport> {
    const { ledger, database } = this.bench;
    const sent = this.senders.sent();
    const history = await this.bench.history(sent);
    return {
      rounds: this.#rounds,
      faults: this.#faults,
      slowestRecoveryMs: this.#slowest,
      events: sent.length,
      runs: ledger.started(),
      expiredLeases: history.transitions.filter(({ failure }) => failure === 'lease_expired').length,
      tornLines: ledger.torn,
      counts: this.senders.counts,
      states: countBy((await itemRows(database)).map(({ state }) => state)),
      figures: this.figures,
      halfStored: await halfStored(database),
      violations: checkHistory(history),
      seconds: Math.round((performance.now() - this.#startedAt) / 1_000),
    };
  }

  /** Events acknowledged and not finished; what a kill lets finish twice counts twice. */
  #open(): number {
    return this.senders.counts.events - this.bench.ledger.finished();
  }

  /** The database with it. */
  close(): Promise<void> {
    return this.bench.close();
  }
}

/** SIGTERM, and it must end well. */
export async function ended(process: ServerProcess): Promise<void> {
  const { code } = await process.terminate();
  if (code !== 0) throw new Error(`${process.name} ended with ${code}`);
}

function countBy(values: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1;
  return counts;
}
