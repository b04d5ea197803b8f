import { expect, test } from 'vitest';
import type { CrashDatabase } from '../support/crash-database.js';
import { CrashLoad, type ScenarioOptions, type ScenarioReport } from '../support/crash-load.js';
import type { ServerProcess } from '../support/crash-process.js';
import { expectKept, SEED } from './expect-kept.js';

/** So short that what a kill leaves behind is taken over a life or two later. */
const LEASE_MS = 1_500;
const DRAIN = { leaseMs: LEASE_MS, workersPerPack: 12 };
const SOURCES = 48;
/** One kill of so many comes while the process starts. */
const START_KILL_EVERY = 10;
const MOST_ANSWERS = 40;

const KILLS = Number(process.env.LANEHEAD_CRASH_KILLS ?? 50);
const TIMEOUT_MS = 240_000 + 10_000 * KILLS;

export function sigkillSuite(engine: string, open: () => Promise<CrashDatabase>): void {
  test(
    `[ADM-1, SCH-6, OWN-2, OWN-5, EXE-1] SIGKILL and restart under the same host name → old leases reclaimed; ${KILLS} kills under load lose nothing acknowledged and keep every order: ${engine}`,
    async () => {
      const report = await sigkillLoop(await open(), { rounds: KILLS, seed: SEED });
      expectKept(`sigkill, ${engine}`, report);
      const { duringAdmission, duringFlows } = report.figures;
      expect(report.rounds).toBe(KILLS);
      expect(duringAdmission).toBeGreaterThanOrEqual(0.8 * KILLS);
      expect(duringFlows).toBeGreaterThanOrEqual(0.8 * KILLS);
      expect(report.counts.repeats).toBeGreaterThan(0);
      expect(report.expiredLeases).toBeGreaterThan(0);
    },
    TIMEOUT_MS,
  );
}

/**
 * Serves, is killed under load, serves again; in the end one more process drains what is left. The next life loads its
 * program while this one serves, so that a kill costs little. A round is a kill.
 */
export async function sigkillLoop(
  database: CrashDatabase,
  options: ScenarioOptions,
): Promise<ScenarioReport> {
  const load = new CrashLoad(database, options, { sources: SOURCES });
  const loop = new KillLoop(load);
  try {
    for (const kill of load.rounds()) {
      const process = await loop.nextLife();
      if (kill % START_KILL_EVERY === 0) await loop.killStarting(process);
      else await loop.killServing(process);
    }
    await load.finish(await loop.nextLife());
    return await load.report();
  } finally {
    await load.close();
  }
}

class KillLoop {
  readonly #load: CrashLoad;
  #lives = 0;
  #next: ServerProcess;

  constructor(load: CrashLoad) {
    this.#load = load;
    this.#next = this.#spawn();
    // Kills that left requests without an answer; that found flows under lease; that came before it served.
    Object.assign(load.figures, { duringAdmission: 0, duringFlows: 0, duringStart: 0 });
  }

  #spawn(): ServerProcess {
    return this.#load.bench.spawn(`life-${++this.#lives}`, { drain: DRAIN, standby: true });
  }

  async nextLife(): Promise<ServerProcess> {
    const process = this.#next;
    await process.until('standby');
    this.#next = this.#spawn();
    process.go();
    return process;
  }

  async killStarting(process: ServerProcess): Promise<void> {
    await process.until('starting');
    const ms = this.#load.random() * 300;
    await Promise.race([new Promise((resolve) => setTimeout(resolve, ms)), process.until('serving')]);
    await process.kill();
    this.#load.fault('killed');
    this.#load.figures.duringStart!++;
  }

  async killServing(process: ServerProcess): Promise<void> {
    const { senders, bench, figures, random } = this.#load;
    senders.pointTo(await process.url());
    await this.#load.busy(process, 1 + Math.floor(random() * MOST_ANSWERS));
    const { cutOff } = senders.counts;
    senders.pointTo(null);
    await process.kill();
    this.#load.fault('killed');
    await this.#load.until(() => senders.inFlight === 0, 'the connections of a killed process end');
    if (senders.counts.cutOff > cutOff) figures.duringAdmission!++;
    if (bench.ledger.cutOff(process.name) > 0) figures.duringFlows!++;
  }
}
