import { mysqlCrashDatabase } from '../support/crash-database.js';
import { CrashLoad, ended, type ScenarioOptions, type ScenarioReport } from '../support/crash-load.js';
import { PrivateMariadb } from '../support/crash-mariadb.js';

const SOURCES = 24;
const DRAIN = { leaseMs: 5_000, workersPerPack: 16 };
/** Requests refused before what was in flight is taken for answered. */
const SETTLING = SOURCES;
const WHILE_DOWN = 2 * SOURCES;

/** SIGKILL of the database server under load; two processes must find it again by themselves. */
export async function mariadbKill(options: ScenarioOptions): Promise<ScenarioReport> {
  const server = await PrivateMariadb.start();
  const load = new CrashLoad(await mysqlCrashDatabase(server.url), options, { sources: SOURCES });
  load.figures.acceptedWhileDown = 0;
  try {
    const serving = load.bench.spawn('serving', { drain: DRAIN });
    const working = load.bench.spawn('working', { drain: DRAIN, role: 'worker' });
    load.senders.pointTo(await serving.url());
    await working.until('serving');
    for (const _ of load.rounds()) {
      await load.busy(serving, 1 + Math.floor(load.random() * 40));
      await server.kill();
      load.fault('mariadbd killed');
      await load.refused(SETTLING);
      load.figures.acceptedWhileDown += await load.refused(WHILE_DOWN);
      await server.restart();
      await load.recovered('mariadbd killed');
    }
    await load.finish(serving);
    await ended(working);
    return await load.report();
  } finally {
    await load.close().finally(() => server.close());
  }
}
