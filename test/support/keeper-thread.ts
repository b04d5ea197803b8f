/** A thread for tests: a lease keeper beside its own connection to a SQLite file. Tells when it has renewed. */
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock, systemRandom } from '../../src/core/system.js';
import { hostLeaseKeeper } from '../../src/executor/lease-keeper-thread.js';
import { portLink } from '../../src/executor/lease-protocol.js';
import { openSqliteStore } from '../../src/store/dialects/sqlite/open.js';
import type { WorkItemService } from '../../src/store/store.js';

export interface KeeperThreadData {
  readonly path: string;
  /** Two Int32: set when the thread serves, raised with every renewal. */
  readonly signals: SharedArrayBuffer;
}

const SERVING = 0;
const RENEWALS = 1;

const { path, signals } = workerData as KeeperThreadData;
const words = new Int32Array(signals);

function raise(word: number): void {
  Atomics.add(words, word, 1);
  Atomics.notify(words, word);
}

const store = openSqliteStore({ path, clock: systemClock, random: systemRandom() });

const renew: WorkItemService['renew'] = async (leases, leaseMs) => {
  const result = await store.renew(leases, leaseMs);
  raise(RENEWALS);
  return result;
};

hostLeaseKeeper(portLink(parentPort!), { renew }, systemClock);
// The link alone does not keep a thread alive; this one lives until its test ends it.
parentPort!.ref();
raise(SERVING);
