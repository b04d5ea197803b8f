import { sqliteCrashDatabase } from '../support/crash-database.js';
import { CrashLoad, type ScenarioOptions, type ScenarioReport } from '../support/crash-load.js';
import type { ServerProcess } from '../support/crash-process.js';
import { SmallDisk } from '../support/crash-small-disk.js';

const SOURCES = 16;
const DRAIN = { leaseMs: 5_000, workersPerPack: 8 };
const DISK_BYTES = 2 ** 30;
/** Enough for the load to go on for a while, so that it is a commit that meets the end of the disk, anywhere in it. */
const MOST_LEFT_BYTES = 2 ** 20;
const REFUSED = 40;

/**
 * The disk of a serving process fills up under load and has room again later; in every second round the process is
 * killed while it is full, and another one starts on the full disk.
 */
export async function fullDisk(options: ScenarioOptions): Promise<ScenarioReport> {
  const disk = await SmallDisk.mount(DISK_BYTES);
  try {
    return await onSmallDisk(disk, options);
  } finally {
    await disk.unmount();
  }
}

async function onSmallDisk(disk: SmallDisk, options: ScenarioOptions): Promise<ScenarioReport> {
  const database = await sqliteCrashDatabase(disk.folder);
  const load = new CrashLoad(database, options, { sources: SOURCES });
  const { figures } = load;
  Object.assign(figures, { killedWhileFull: 0, largestWalBytes: 0, corrupt: 0 });
  let lives = 0;
  const spawn = (): ServerProcess => load.bench.spawn(`life-${++lives}`, { drain: DRAIN });
  const wal = `${database.url.slice('sqlite:'.length)}-wal`;
  try {
    let process = spawn();
    for (const round of load.rounds()) {
      load.senders.pointTo(await process.url());
      await load.busy(process);
      disk.leave(1 + Math.floor(load.random() * MOST_LEFT_BYTES));
      load.fault('disk full');
      await load.refused(REFUSED);
      figures.largestWalBytes = Math.max(figures.largestWalBytes!, disk.bytesOf(wal));
      if (round % 2 === 0) {
        load.senders.pointTo(null);
        await process.kill();
        figures.killedWhileFull!++;
        process = await restart(spawn, () => disk.relieve());
        load.senders.pointTo(await process.url());
      }
      disk.relieve();
      await load.recovered('disk full');
    }
    await load.finish(process);
    const [row] = await database.sql<{ integrity_check: string }>('PRAGMA integrity_check');
    figures.corrupt = row!.integrity_check === 'ok' ? 0 : 1;
    return await load.report();
  } finally {
    await load.close();
  }
}

/** On a full disk a process either serves or says why it does not; then it gets its space. */
async function restart(spawn: () => ServerProcess, relieve: () => void): Promise<ServerProcess> {
  const process = spawn();
  try {
    await process.url();
    return process;
  } catch (error) {
    if (!/SQLITE_FULL|SQLITE_IOERR|SQLITE_CANTOPEN/.test((error as Error).message)) throw error;
    relieve();
    return spawn();
  }
}
