/** Three processes with more slots than may be used, one MariaDB, and kills: what bounds them is the database alone. */
import { afterEach, expect, test } from 'vitest';
import { QUEUE_CLASSES } from '../../src/core/work.js';
import { mysqlDialect } from '../../src/store/dialects/mysql/dialect.js';
import { CrashBench, eventually } from '../support/crash-bench.js';
import { type CrashDatabase, itemRows, mysqlCrashDatabase } from '../support/crash-database.js';
import { fill } from '../support/crash-fill.js';
import type { ServerProcess, ServerSpec } from '../support/crash-process.js';
import { seededRandom } from '../support/interleavings.js';
import { ROUNDS, SEED } from './expect-kept.js';

const KILLS = ROUNDS ?? 8;
const ITEMS = 600 + 450 * KILLS;
const LANES = 200;
const PATIENCE_MS = 120_000 + 20_000 * KILLS;
/** More slots in each process than the whole pack may use, and leases that end while a test waits. */
const DRAIN = { workersPerPack: 16, leaseMs: 1_500 };

interface Case {
  readonly most: number;
  /** Rows in processing, or those of them under a lease. */
  readonly counted: 'Processing' | 'Running';
  readonly spec: Partial<ServerSpec>;
}

const CASES: Readonly<Record<string, Case>> = {
  'the processing budget': {
    most: 12,
    counted: 'Processing',
    spec: { drain: { ...DRAIN, maxProcessingRows: 12 } },
  },
  'a declared concurrency': {
    most: 7,
    counted: 'Running',
    spec: { drain: { ...DRAIN, maxProcessingRows: 64 }, limits: { pack: { concurrency: 7 } } },
  },
};

let bench: CrashBench;
afterEach(() => bench.close());

/**
 * With each claimed row, how many its transaction sees in processing, and how many of them under a lease; claimers of a
 * pack come one after the other.
 */
async function auditProcessing(database: CrashDatabase): Promise<void> {
  await database.sql('CREATE TABLE ProcessingAudit (Processing INT NOT NULL, Running INT NOT NULL)');
  await database.sql(`CREATE TRIGGER ProcessingAuditTrigger
    AFTER UPDATE ON _System_ConnectorWorkItem FOR EACH ROW BEGIN
      IF NEW.State = 'processing' AND OLD.OwnershipEpoch <> NEW.OwnershipEpoch THEN
        INSERT INTO ProcessingAudit
          SELECT COUNT(*), SUM(w.BucketOrder >= ${mysqlDialect.now}) FROM _System_ConnectorWorkItem w
          WHERE w.PackId = NEW.PackId AND w.WorkType = NEW.WorkType AND w.Bucket = 'processing';
      END IF;
    END`);
}

/** Kills one of three again and again, each time when it has work, and starts another in its place. */
async function drainUnderKills(spec: Partial<ServerSpec>): Promise<readonly ServerProcess[]> {
  const random = seededRandom(SEED);
  const all: ServerProcess[] = [];
  const spawn = (): ServerProcess => {
    const process = bench.spawn(`life-${all.length + 1}`, { role: 'worker', ...spec });
    all.push(process);
    return process;
  };
  const living = [spawn(), spawn(), spawn()];
  for (let kill = 1; kill <= KILLS; kill++) {
    const place = Math.floor(random() * living.length);
    const victim = living[place]!;
    await eventually(() => bench.ledger.live(victim.name).length > 0, `${victim.name} has work`);
    await victim.kill();
    living[place] = spawn();
  }
  await eventually(() => bench.ledger.finished() >= ITEMS, 'every item has run', PATIENCE_MS);
  await living[0]!.drained();
  for (const process of living) expect(await process.terminate()).toEqual({ code: 0, signal: null });
  return all;
}

for (const [what, { most, counted, spec }] of Object.entries(CASES)) {
  test(
    `[DRN-2, LIM-1, RSV-1, RSV-5, OWN-2] three processes, ${KILLS} kills: ${what} is used whole and never exceeded, no permit is a phantom, nothing is lost`,
    async () => {
      bench = new CrashBench(await mysqlCrashDatabase());
      await auditProcessing(bench.database);
      const sent = await fill(bench.database, { items: ITEMS, lanes: LANES, queueClasses: QUEUE_CLASSES });
      const processes = await drainUnderKills({
        behaviour: { kind: 'wait', ms: 10 },
        watchPermits: true,
        ...spec,
      });
      const [highest] = await bench.database.sql<{ n: number }>(
        `SELECT MAX(${counted}) AS n FROM ProcessingAudit`,
      );
      expect(Number(highest!.n)).toBe(most);
      const messages = processes.flatMap((process) => process.messages);
      expect(messages.filter(({ kind }) => kind === 'phantom')).toEqual([]);
      const looks = processes.map(({ messages }) => Math.max(0, ...messages.map(({ looks }) => looks ?? 0)));
      expect(Math.max(...looks)).toBeGreaterThan(10);
      const states = new Set((await itemRows(bench.database)).map(({ state }) => state));
      expect([...states]).toEqual(['completed']);
      expect(await bench.violations(sent)).toEqual([]);
      console.info(
        `three processes, ${what}: ${ITEMS} items, ${KILLS} kills, most in processing ${highest!.n}, looks ${looks}`,
      );
    },
    PATIENCE_MS * 2,
  );
}
