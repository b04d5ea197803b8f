/** Entry of the store thread: the SQLite store, its inbox, and the lease keepers of the main thread. */
import { parentPort, workerData } from 'node:worker_threads';
import { steadyClock } from '../core/steady-clock.js';
import { systemClock, systemNextTurn, systemRandom } from '../core/system.js';
import { hostLeaseKeeper } from '../executor/lease-keeper-thread.js';
import { portLink } from '../executor/lease-protocol.js';
import { openSqliteStore } from '../store/dialects/sqlite/open.js';
import type { Store } from '../store/store.js';
import { Inbox } from './inbox.js';
import { type FromStore, type ToStore, toPlain, VERBS } from './store-protocol.js';

export interface SqliteThreadData {
  readonly path: string;
  readonly unsafeDurability: boolean;
}

const port = parentPort!;
const answer = (message: FromStore): void => port.postMessage(message);
const inbox = new Inbox(systemNextTurn);

function open(): Store | null {
  try {
    const data = workerData as SqliteThreadData;
    const store = openSqliteStore({ ...data, clock: steadyClock(systemClock), random: systemRandom() });
    answer({ kind: 'opened' });
    return { ...store, pressure: async () => ({ ...(await store.pressure()), inboxDepth: inbox.depth }) };
  } catch (error) {
    answer({ kind: 'refused', error: toPlain(error) });
    port.close();
    return null;
  }
}

async function serve(store: Store, message: Extract<ToStore, { kind: 'call' }>): Promise<void> {
  const { id, verb, args } = message;
  const call = store[verb] as (...args: readonly unknown[]) => Promise<unknown>;
  try {
    const inboxClass = VERBS[verb];
    const job = () => call(...args);
    const value = inboxClass === 'beside' ? await job() : await inbox.submit(inboxClass, job);
    answer({ kind: 'result', id, value });
  } catch (error) {
    answer({ kind: 'failed', id, error: toPlain(error) });
  }
  if (verb === 'close') port.close();
}

const store = open();
if (store !== null) {
  const renewing = {
    renew: (...args: Parameters<Store['renew']>) => inbox.submit('leases', () => store.renew(...args)),
  };
  port.on('message', (message: ToStore) => {
    if (message.kind === 'call') void serve(store, message);
    else hostLeaseKeeper(portLink(message.port), renewing, systemClock);
  });
}
