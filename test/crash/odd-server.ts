import { SECRET } from '../support/crash-bench.js';
import { mysqlCrashDatabase } from '../support/crash-database.js';
import { CrashLoad, type ScenarioOptions, type ScenarioReport } from '../support/crash-load.js';
import { PrivateMariadb } from '../support/crash-mariadb.js';
import { postDelivery } from '../support/crash-senders.js';

/** What nobody would choose, and somebody has. */
export const ODD_SETTINGS = [
  '--wait-timeout=2',
  '--interactive-timeout=2',
  '--default-time-zone=+05:30',
  '--sql-mode=ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT,IGNORE_SPACE,HIGH_NOT_PRECEDENCE',
  '--innodb-snapshot-isolation=ON',
  '--transaction-isolation=SERIALIZABLE',
  '--autocommit=0',
  '--completion-type=CHAIN',
  '--character-set-server=latin1',
  '--lower-case-table-names=1',
  '--innodb-lock-wait-timeout=1',
] as const;

const SOURCES = 24;
/** Leases longer than any flow by far: one that ends was ended by the server's settings. */
const DRAIN = { leaseMs: 60_000, workersPerPack: 16 };
const ANSWERS = 60;
/** Longer than the server's own patience with a session that says nothing. */
const SILENCE_MS = 3_000;

/** Serves on a server with settings of its own; a round is some load, and a silence that ends idle sessions. */
export async function oddServer(options: ScenarioOptions): Promise<ScenarioReport> {
  const server = await PrivateMariadb.start(ODD_SETTINGS);
  const load = new CrashLoad(await mysqlCrashDatabase(server.url), options, { sources: SOURCES });
  try {
    const process = load.bench.spawn('serving', { drain: DRAIN });
    const url = await process.url();
    for (const _ of load.rounds()) {
      load.senders.pointTo(url);
      await load.busy(process, ANSWERS);
      load.senders.pointTo(null);
      await new Promise((resolve) => setTimeout(resolve, SILENCE_MS));
      load.fault('silence');
      load.senders.pointTo(url);
      await load.recovered('silence');
    }
    await load.finish(process);
    return await load.report();
  } finally {
    await load.close().finally(() => server.close());
  }
}

const PACKET_BYTES = 2 ** 20;
/** Each fits, and a group of them does not. */
const PADDING_BYTES = 100_000;
const LARGE_ANSWERS = 20;

/** A server that takes packets of a megabyte; a round is some load, and one body that is longer than that. */
export async function smallPacket(options: ScenarioOptions): Promise<ScenarioReport> {
  const server = await PrivateMariadb.start([`--max-allowed-packet=${PACKET_BYTES}`]);
  const database = await mysqlCrashDatabase(server.url);
  const load = new CrashLoad(database, options, { sources: SOURCES, padding: () => PADDING_BYTES });
  try {
    const process = load.bench.spawn('serving', { drain: DRAIN });
    const url = await process.url();
    load.senders.pointTo(url);
    for (const round of load.rounds()) {
      await load.busy(process, LARGE_ANSWERS);
      const padding = 'x'.repeat(PACKET_BYTES + Math.floor(load.random() * PACKET_BYTES));
      const body = JSON.stringify({ events: [{ source: 'large', sequence: round }], padding });
      const { status } = await postDelivery(url, { key: `large-${round}`, body }, SECRET);
      load.fault(`body longer than a packet: ${status}`);
    }
    await load.finish(process);
    return await load.report();
  } finally {
    await load.close().finally(() => server.close());
  }
}
