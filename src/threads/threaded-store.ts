import { MessageChannel, Worker } from 'node:worker_threads';
import { type MainLink, portLink } from '../executor/lease-protocol.js';
import { StoreOutage } from '../store/driver.js';
import type { MaterializeRequest, Store } from '../store/store.js';
import type { SqliteThreadData } from './sqlite-store-thread.js';
import { type FromStore, fromPlain, type ToStore, VERBS, type Verb } from './store-protocol.js';

interface Waiting {
  readonly resolve: (value: never) => void;
  readonly reject: (error: Error) => void;
}

export interface ThreadedStore {
  readonly store: Store;
  /** A lease keeper inside the store thread, beside the connection: one for each caller. */
  leaseLink(): MainLink;
}

/**
 * The SQLite store in a thread of its own, so that fsync and checkpoints never stop the event loop that answers HTTP.
 * @throws whatever opening the file throws
 */
export async function openThreadedSqliteStore(data: SqliteThreadData): Promise<ThreadedStore> {
  const worker = new Worker(new URL('./sqlite-store-thread.js', import.meta.url), { workerData: data });
  const calls = new Calls(worker);
  await calls.opened;
  return {
    store: proxy(calls),
    leaseLink() {
      const { port1, port2 } = new MessageChannel();
      worker.postMessage({ kind: 'keeper', port: port2 } satisfies ToStore, [port2]);
      return portLink(port1);
    },
  };
}

/** Questions under way to the thread. If it dies they end as outages whose outcome nobody knows. */
class Calls {
  readonly opened: Promise<void>;
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;
  #ended = false;

  constructor(worker: Worker) {
    this.#worker = worker;
    this.opened = new Promise((resolve, reject) => {
      worker.on('message', (message: FromStore) => {
        if (message.kind === 'opened') resolve();
        else if (message.kind === 'refused') reject(fromPlain(message.error));
        else this.#settle(message);
      });
      worker.on('error', (error) => {
        reject(error);
        this.#end(`the store thread failed: ${error.message}`);
      });
      worker.on('exit', () => this.#end('the store is closed'));
    });
  }

  ask(verb: Verb, args: readonly unknown[]): Promise<never> {
    if (this.#ended) return Promise.reject(new StoreOutage('the store is closed', 'none'));
    const id = ++this.#lastId;
    return new Promise<never>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage({ kind: 'call', id, verb, args } satisfies ToStore);
    });
  }

  async close(): Promise<void> {
    if (this.#ended) return;
    await this.ask('close', []);
    this.#ended = true;
    // The database is closed; the thread would end by itself, but a moment after whoever waits for it.
    await this.#worker.terminate();
  }

  #settle(message: Extract<FromStore, { id: number }>): void {
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if (message.kind === 'result') waiting?.resolve(message.value as never);
    else waiting?.reject(fromPlain(message.error));
  }

  #end(reason: string): void {
    this.#ended = true;
    for (const waiting of this.#waiting.values()) waiting.reject(new StoreOutage(reason, 'unknown'));
    this.#waiting.clear();
  }
}

function proxy(calls: Calls): Store {
  const verbs = Object.fromEntries(
    (Object.keys(VERBS) as Verb[]).map((verb) => [
      verb,
      (...args: readonly unknown[]) => calls.ask(verb, args),
    ]),
  ) as unknown as Omit<Store, 'engine' | 'honorsClaimWorkTypes'>;
  return {
    ...verbs,
    engine: 'sqlite',
    honorsClaimWorkTypes: () => true,
    materialize: (request) => calls.ask('materialize', [travelling(request)]),
    rematerialize: (request) => calls.ask('rematerialize', [travelling(request)]),
    close: () => calls.close(),
  };
}

/** Views are cloned together with everything else in their buffer; what shares one gets its own. */
const own = (bytes: Uint8Array): Uint8Array =>
  bytes.byteLength === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes);

function travelling(request: MaterializeRequest): MaterializeRequest {
  const receipts = request.receipts.map((receipt) => ({
    ...receipt,
    body: own(receipt.body),
    bodyHash: own(receipt.bodyHash),
    requestKey: own(receipt.requestKey),
    events: receipt.events.map((event) => ({
      ...event,
      idempotencyKey: own(event.idempotencyKey),
      contentHash: own(event.contentHash),
      payload: event.payload === null ? null : own(event.payload),
    })),
  }));
  return { ...request, receipts };
}
