import { systemClock, systemRandom } from '../core/system.js';
import type { MainLink } from '../executor/lease-protocol.js';
import { type MysqlDriver, openMysqlDriver } from '../store/dialects/mysql/driver.js';
import { realFile, requireLocalFileSystem } from '../store/dialects/sqlite/file-system.js';
import { openSqliteStore } from '../store/dialects/sqlite/open.js';
import { acquireServeLock } from '../store/dialects/sqlite/serve-lock.js';
import { createSqlStore } from '../store/sql-store.js';
import type { Store } from '../store/store.js';
import { type LeaseThread, openLeaseThread } from '../threads/lease-link.js';
import { openThreadedSqliteStore } from '../threads/threaded-store.js';
import { parseDatabaseUrl } from './database-url.js';

export interface ServingStore {
  readonly store: Store;
  /** A lease keeper off the main thread, ready to keep. */
  leaseLink(onFailure: (error: Error) => void): Promise<MainLink>;
  /** What the operator should know: settings that are accepted but not recommended. */
  readonly warnings: readonly string[];
  /** Leaves no connection, file or thread behind. */
  close(): Promise<void>;
}

export interface StoreSettings {
  readonly databaseUrl: string;
  readonly unsafeDurability: boolean;
  /** Connections on MySQL for the drain and for people. */
  readonly poolSize: number;
  /** Connections on MySQL for admission alone; left out: it shares the others. */
  readonly admissionPoolSize?: number;
}

/** For a process that serves: checks where the data lies, takes the file's lock, keeps leases in another thread. */
export async function openServingStore(settings: StoreSettings): Promise<ServingStore> {
  const address = parseDatabaseUrl(settings.databaseUrl);
  return address.engine === 'sqlite'
    ? await openServingSqlite(address.path, settings)
    : await openServingMysql(address.url, settings);
}

async function openServingSqlite(named: string, { unsafeDurability }: StoreSettings): Promise<ServingStore> {
  const memory = named === ':memory:';
  const path = memory ? named : await realFile(named);
  if (!memory) await requireLocalFileSystem(path);
  const lock = memory ? null : acquireServeLock(path);
  try {
    const { store, leaseLink } = await openThreadedSqliteStore({ path, unsafeDurability });
    const close = async (): Promise<void> => {
      await store.close();
      lock?.release();
    };
    return {
      store,
      leaseLink: async () => leaseLink(),
      warnings: memory ? ['sqlite::memory: keeps nothing'] : [],
      close,
    };
  } catch (error) {
    lock?.release();
    throw error;
  }
}

async function openServingMysql(url: string, settings: StoreSettings): Promise<ServingStore> {
  const { unsafeDurability, poolSize, admissionPoolSize } = settings;
  const driver = await openMysqlDriver({ url, clock: systemClock, unsafeDurability, poolSize });
  const parts = { driver, clock: systemClock, random: systemRandom() };
  const store = createSqlStore(
    admissionPoolSize === undefined
      ? parts
      : { ...parts, foreground: await openBeside(driver, url, settings, admissionPoolSize) },
  );
  let leases: LeaseThread | null = null;
  return {
    store,
    async leaseLink(onFailure) {
      leases = await openLeaseThread({ url, unsafeDurability }, systemClock, onFailure);
      return leases.link;
    },
    warnings: driver.server.warnings,
    async close() {
      await Promise.all([store.close(), leases?.ended()]);
    },
  };
}

async function openBeside(
  opened: MysqlDriver,
  url: string,
  { unsafeDurability }: StoreSettings,
  poolSize: number,
): Promise<MysqlDriver> {
  try {
    return await openMysqlDriver({ url, clock: systemClock, unsafeDurability, poolSize });
  } catch (error) {
    await opened.close();
    throw error;
  }
}

/** Without a pool of its own for admission. */
const shared = ({ databaseUrl, unsafeDurability }: StoreSettings) => ({ databaseUrl, unsafeDurability });

/** For a command beside a serving process: in this thread, without the lock. */
export async function openStore(settings: StoreSettings): Promise<Store> {
  const address = parseDatabaseUrl(settings.databaseUrl);
  if (address.engine === 'mysql')
    return (await openServingMysql(address.url, { ...shared(settings), poolSize: 2 })).store;
  await requireLocalFileSystem(await realFile(address.path));
  const { unsafeDurability } = settings;
  return openSqliteStore({
    path: address.path,
    unsafeDurability,
    clock: systemClock,
    random: systemRandom(),
  });
}
