/** Entry of the lease thread on MySQL: one connection of its own, so that renewals wait for nothing else. */
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock, systemRandom } from '../core/system.js';
import { hostLeaseKeeper } from '../executor/lease-keeper-thread.js';
import { portLink } from '../executor/lease-protocol.js';
import { openMysqlDriver } from '../store/dialects/mysql/driver.js';
import { createSqlStore } from '../store/sql-store.js';

export interface LeaseThreadData {
  readonly url: string;
  readonly unsafeDurability: boolean;
}

const data = workerData as LeaseThreadData;
const driver = await openMysqlDriver({ ...data, clock: systemClock, poolSize: 1 });
const store = createSqlStore({ driver, clock: systemClock, random: systemRandom() });
hostLeaseKeeper(
  {
    ...portLink(parentPort!),
    // The thread lives for its link; its end closes the connection with it.
    close: () => void store.close().then(() => parentPort!.close()),
  },
  store,
  systemClock,
);
// The link lets go of its port; here it is what keeps the thread alive, as an idle connection may be closed.
parentPort!.ref();
parentPort!.postMessage('open');
