import type { CrashDatabase } from '../support/crash-database.js';
import { CrashLoad, ended, type ScenarioOptions, type ScenarioReport } from '../support/crash-load.js';
import type { Behaviour } from '../support/crash-process.js';
import type { LedgerRecord } from '../support/crash-run-ledger.js';
import { WallClock } from '../support/crash-wall-clock.js';

const SOURCES = 16;
/** Longer than any flow by far, and shorter than a jump by far. */
const DRAIN = { leaseMs: 60_000, workersPerPack: 12 };
const JUMP_SECONDS = 600;
const OFFSETS = [JUMP_SECONDS, 0, -JUMP_SECONDS, 0];
const MOST_OPEN = 60;
const RETRY_MS = 1_500;
/** A clock that comes back to the right time runs a tenth faster meanwhile; due times are whole milliseconds. */
const LEAST_WAIT_MS = RETRY_MS / 1.1 - 5;

/**
 * The wall clock of a serving process jumps ten minutes and back. On MySQL a second process keeps the right time, and
 * the database's clock is the authority; on SQLite the process is alone.
 */
export async function wallClockJumps(
  database: CrashDatabase,
  options: ScenarioOptions,
): Promise<ScenarioReport> {
  const load: CrashLoad = new CrashLoad(database, options, {
    sources: SOURCES,
    behaviour,
    // So that what waits for a turn is done soon, and what is left waits for the clock.
    mostOpen: MOST_OPEN,
  });
  const clock = new WallClock(load.bench.signal('clock'));
  try {
    const jumping = load.bench.spawn('jumping', { drain: DRAIN, env: clock.env });
    const steady =
      database.engine === 'mysql' ? load.bench.spawn('steady', { drain: DRAIN, role: 'worker' }) : null;
    load.senders.pointTo(await jumping.url());
    await steady?.until('serving');
    for (const round of load.rounds()) {
      await load.busy(jumping);
      clock.set(OFFSETS[(round - 1) % OFFSETS.length]!);
      load.fault('jump');
      await load.recovered('jump');
      await everythingSoFarFinishes(load);
    }
    await load.finish(jumping);
    if (steady !== null) await ended(steady);
    load.figures.early = earlyRetries(load.bench.ledger.records);
    return await load.report();
  } finally {
    await load.close();
  }
}

function behaviour(random: () => number): Behaviour {
  const drawn = random();
  if (drawn < 0.15) return { kind: 'retry', ms: RETRY_MS };
  return { kind: 'wait', ms: drawn < 0.4 ? 400 : 10 };
}

/** What was acknowledged before now, due times, retries and all. */
async function everythingSoFarFinishes(load: CrashLoad): Promise<void> {
  const acknowledged = load.senders.sent().filter(({ receipts }) => receipts.length > 0);
  const left = new Set(acknowledged.map(({ item }) => item));
  let seen = 0;
  await load.until(() => {
    const { records } = load.bench.ledger;
    for (const record of records.slice(seen)) {
      if (record.kind === 'ended' && record.how === 'finished') left.delete(record.item);
    }
    seen = records.length;
    return left.size === 0;
  }, 'what was acknowledged before the jump has run');
}

/** Second attempts that began before the time the first one had asked for. */
function earlyRetries(records: readonly LedgerRecord[]): number {
  const asked = new Map<string, number>();
  let early = 0;
  for (const record of records) {
    if (record.kind === 'ended' && record.how === 'aborted')
      asked.set(record.item, record.at! + LEAST_WAIT_MS);
    if (record.kind !== 'started') continue;
    if (record.at! < (asked.get(record.item) ?? 0)) early++;
  }
  return early;
}
