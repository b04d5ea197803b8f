import { sqliteCrashDatabase } from '../support/crash-database.js';
import { CrashLoad, type ScenarioOptions, type ScenarioReport } from '../support/crash-load.js';
import { Strace } from '../support/crash-strace.js';
import { AUDITED, auditSyncs } from '../support/crash-sync-audit.js';

const SOURCES = 32;
const DRAIN = { workersPerPack: 16 };
const ANSWERS = 150;

/** Watches the system calls of a serving process from its first request on; a round is so many answers. */
export async function syncAudit(options: ScenarioOptions): Promise<ScenarioReport> {
  const load = new CrashLoad(await sqliteCrashDatabase(), options, { sources: SOURCES });
  const known = new Set<string>();
  Object.assign(load.figures, { audited: 0, syncs: 0, early: 0 });
  try {
    const process = load.bench.spawn('watched', { drain: DRAIN });
    const url = await process.url();
    for (const _ of load.rounds()) {
      const strace = await Strace.attach(process.pid, load.bench.signal('strace.log'), AUDITED);
      load.senders.pointTo(url);
      const enough = load.senders.counts.answers + ANSWERS;
      await load.until(() => load.senders.counts.answers >= enough, 'deliveries are answered');
      load.senders.pointTo(null);
      await load.until(() => load.senders.inFlight === 0, 'requests in flight are answered');
      const audit = auditSyncs(await strace.detach(), known);
      for (const { receipts } of load.senders.sent()) for (const receipt of receipts) known.add(receipt);
      load.figures.audited! += audit.answers;
      load.figures.syncs! += audit.syncs;
      load.figures.early! += audit.early.length;
    }
    await load.finish(process);
    return await load.report();
  } finally {
    await load.close();
  }
}
