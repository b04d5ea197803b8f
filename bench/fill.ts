import { idMaker } from '../src/core/ids.js';
import { systemClock, systemRandom } from '../src/core/system.js';
import type { QueueClass } from '../src/core/work.js';
import { draftReceipt } from '../src/packs/draft-receipt.js';
import { restoreReceipt } from '../src/packs/receipt.js';
import type { Pack } from '../src/packs/types.js';
import { parseDatabaseUrl } from '../src/runtime/database-url.js';
import { openMysqlDriver } from '../src/store/dialects/mysql/driver.js';
import { openSqliteDriver } from '../src/store/dialects/sqlite/driver.js';
import type { Driver } from '../src/store/driver.js';
import { createSqlStore } from '../src/store/sql-store.js';
import type { ReceiptDraft } from '../src/store/store.js';
import { materialize } from '../src/store/verbs/materialize.js';
import { githubPack, NAMESPACE } from './github-pack.js';
import { deliveryOf, headersOf, PATH, Pushes, repositoryName } from './pushes.js';

export interface Filling {
  readonly databaseUrl: string;
  readonly items: number;
  readonly lanes: number;
  readonly payloadBytes: number;
  /** Default: `default`. */
  readonly queueClass?: QueueClass;
}

/** One statement takes so many. */
const BATCH = 256;
const BATCHES_PER_COMMIT = 32;
const newId = idMaker(systemClock, systemRandom());

/** Migrates, installs the pack, and stores `items` pushes round the lanes, by the product's own statements in big commits. */
export async function fill(filling: Filling): Promise<void> {
  const { databaseUrl, items, lanes, payloadBytes, queueClass } = filling;
  const driver = await openDriver(databaseUrl);
  const store = createSqlStore({ driver, clock: systemClock, random: systemRandom() });
  try {
    await store.migrate();
    const pack = githubPack(
      () => undefined,
      () => queueClass ?? 'default',
    );
    const [installed] = await store.installPacks([
      { namespace: NAMESPACE, pack: pack.name, version: pack.version },
    ]);
    const { packId, namespace } = installed!;
    const pushes = new Pushes(payloadBytes);
    for (let from = 0; from < items; from += BATCH * BATCHES_PER_COMMIT) {
      const until = Math.min(items, from + BATCH * BATCHES_PER_COMMIT);
      await driver.transaction(function* () {
        for (let first = from; first < until; first += BATCH) {
          const numbers = Array.from({ length: Math.min(BATCH, until - first) }, (_, place) => first + place);
          const receipts = numbers.map((number) => draft(pack, pushes, number, lanes));
          const result = yield* materialize({ packId, namespace, receipts });
          if ('refused' in result) throw new Error(`the pack is ${result.refused}`);
        }
      });
    }
  } finally {
    await store.close();
  }
}

async function openDriver(databaseUrl: string): Promise<Driver> {
  const address = parseDatabaseUrl(databaseUrl);
  const common = { clock: systemClock, unsafeDurability: false };
  if (address.engine === 'mysql') return await openMysqlDriver({ ...common, url: address.url, poolSize: 2 });
  const driver = openSqliteDriver({ ...common, path: address.path });
  // Of this connection: pages of large indexes are written once, not with each commit.
  await driver.script(['PRAGMA cache_size = -1000000', 'PRAGMA wal_autocheckpoint = 100000']);
  return driver;
}

function draft(pack: Pack, pushes: Pushes, number: number, lanes: number): ReceiptDraft {
  const body = pushes.body(number, repositoryName(number % lanes));
  const receipt = restoreReceipt({
    namespace: NAMESPACE,
    pack: pack.name,
    route: 'events',
    method: 'POST',
    target: PATH,
    headers: headersOf(body, deliveryOf(number)),
    body,
    receivedAt: Date.now(),
    verification: 'github',
  });
  return draftReceipt({ route: pack.routes.get('events')!, receipt, newId });
}
