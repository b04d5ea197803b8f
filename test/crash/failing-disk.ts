import { sqliteCrashDatabase } from '../support/crash-database.js';
import { CrashLoad, type ScenarioOptions, type ScenarioReport } from '../support/crash-load.js';
import type { ServerProcess } from '../support/crash-process.js';
import { countInjected, Strace } from '../support/crash-strace.js';
import { AUDITED, auditSyncs } from '../support/crash-sync-audit.js';

const SOURCES = 16;
const DRAIN = { leaseMs: 5_000, workersPerPack: 8 };

interface Failing {
  readonly kind: string;
  readonly inject: string;
  /** Nothing can become durable while it lasts. */
  readonly always: boolean;
}

/** SQLite alone uses pwrite64 here. */
const FAILING: readonly Failing[] = [
  { kind: 'EIO of every sync', inject: 'fsync,fdatasync:error=EIO:when=1+', always: true },
  { kind: 'EIO of every third sync', inject: 'fsync,fdatasync:error=EIO:when=3+3', always: false },
  { kind: 'EIO of every write', inject: 'pwrite64:error=EIO:when=1+', always: true },
  { kind: 'EIO of some writes', inject: 'pwrite64:error=EIO:when=5+97', always: false },
];

export const DISK_FAULTS = FAILING.length;
const REFUSED = 20;
const ANSWERS_WHILE_SOME_FAIL = 10;

/**
 * The disk fails under a process that serves a file. After every second fault the process is killed while it lasts,
 * and a new one finds what the file holds; after the others it goes on by itself.
 */
export async function failingDisk(options: ScenarioOptions): Promise<ScenarioReport> {
  const load = new CrashLoad(await sqliteCrashDatabase(), options, { sources: SOURCES });
  const disk = new FailingDisk(load);
  try {
    for (const round of load.rounds()) {
      const failing = FAILING[(round - 1) % FAILING.length]!;
      const lap = Math.floor((round - 1) / FAILING.length);
      await disk.round(failing, (round + lap) % 2 === 0);
    }
    await load.finish(await disk.serving());
    return await load.report();
  } finally {
    await load.close();
  }
}

class FailingDisk {
  readonly #load: CrashLoad;
  #process: ServerProcess | null = null;
  #lives = 0;

  constructor(load: CrashLoad) {
    this.#load = load;
    Object.assign(load.figures, { acceptedWhileFailing: 0, audited: 0, early: 0, killedWhileFailing: 0 });
  }

  async serving(): Promise<ServerProcess> {
    this.#process ??= this.#load.bench.spawn(`life-${++this.#lives}`, { drain: DRAIN });
    this.#load.senders.pointTo(await this.#process.url());
    return this.#process;
  }

  async round(failing: Failing, killed: boolean): Promise<void> {
    const { senders, figures } = this.#load;
    const process = await this.serving();
    await this.#load.busy(process);
    // What is answered while the trace begins is not the fault's.
    senders.pointTo(null);
    await this.#load.until(() => senders.inFlight === 0, 'requests in flight are answered');
    const known = new Set(senders.sent().flatMap(({ receipts }) => receipts));
    const strace = await Strace.attach(process.pid, this.#load.bench.signal('strace.log'), {
      ...AUDITED,
      inject: failing.inject,
    });
    await this.serving();
    await this.#whileFailing(failing, strace);
    if (killed) await this.#kill(process);
    const lines = await strace.detach();
    const over = performance.now();
    await this.serving();
    await this.#load.recovered(failing.kind, over);
    const audit = auditSyncs(lines, known);
    this.#load.fault(failing.kind, countInjected(lines));
    figures.audited! += audit.answers;
    figures.early! += audit.early.length;
  }

  async #whileFailing({ always }: Failing, strace: Strace): Promise<void> {
    const { counts } = this.#load.senders;
    if (always) {
      this.#load.figures.acceptedWhileFailing! += await this.#load.refused(REFUSED);
      return;
    }
    // A COMMIT that failed is tried again, so that few of these are noticed by anybody.
    const enough = counts.accepted + ANSWERS_WHILE_SOME_FAIL;
    const both = () => counts.accepted >= enough && strace.injected() > 0;
    await this.#load.until(both, 'some deliveries are accepted and some calls have failed');
  }

  async #kill(process: ServerProcess): Promise<void> {
    this.#load.senders.pointTo(null);
    await process.kill();
    this.#process = null;
    this.#load.figures.killedWhileFailing!++;
  }
}
