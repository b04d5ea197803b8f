import { systemClock, systemRandom } from '../../../src/core/system.js';
import { openMysqlDriver } from '../../../src/store/dialects/mysql/driver.js';
import { openSqliteDriver } from '../../../src/store/dialects/sqlite/driver.js';
import type { Driver } from '../../../src/store/driver.js';
import { type Param, type Row, read, write } from '../../../src/store/plan.js';
import { createSqlStore } from '../../../src/store/sql-store.js';
import {
  DRAIN,
  EVENT,
  IDEMPOTENCY,
  PACK,
  PROJECTION,
  RECEIPT,
  WORK_ITEM,
} from '../../../src/store/statements/tables.js';
import type { Store } from '../../../src/store/store.js';
import { createDatabase } from '../../support/mariadb.js';

const HOUR_MS = 3_600_000;

/** A real store whose clock is moved by whole hours; the seconds a run takes are nothing beside them. */
export interface ModelEngine {
  readonly store: Store;
  readonly rows: (sql: string, params: readonly Param[]) => Promise<readonly Row[]>;
  readonly change: (sql: string, params: readonly Param[]) => Promise<void>;
  readonly advance: (hours: number) => Promise<void>;
  /** What the store's clock will say, in the ms it stores, at this hour of the run. */
  readonly timeOf: (hour: number) => number;
  /** To half an hour. */
  readonly hourOf: (stored: number) => number;
  /** Nothing is stored, and it is hour 0. */
  readonly restart: () => Promise<void>;
  readonly close: () => Promise<void>;
}

const TABLES = [WORK_ITEM, PROJECTION, EVENT, IDEMPOTENCY, RECEIPT, DRAIN, PACK];
const EMPTY = TABLES.map((table) => `DELETE FROM ${table}`);

function speaking(driver: Driver) {
  const statement = (kind: 'read' | 'write', sql: string) =>
    ({ name: sql, kind, maxSize: 1, sql: () => sql }) as const;
  return {
    rows: (sql: string, params: readonly Param[]) =>
      driver.query(() => read<Row>(statement('read', sql), params)),
    change: async (sql: string, params: readonly Param[]) => {
      await driver.transaction(() => write(statement('write', sql), params));
    },
  };
}

function times(startMs: number, movedMs: number) {
  return {
    timeOf: (hour: number) => startMs + hour * HOUR_MS - movedMs,
    hourOf: (stored: number) => Math.round((2 * (stored + movedMs - startMs)) / HOUR_MS) / 2,
  };
}

/** In memory and in this thread, with a clock of its own. */
export async function sqliteModelEngine(): Promise<ModelEngine> {
  const startMs = 1_800_000_000_000;
  let hour = 0;
  const clock = { ...systemClock, now: () => startMs + hour * HOUR_MS };
  const driver = openSqliteDriver({ path: ':memory:', clock, unsafeDurability: true });
  const store = createSqlStore({ driver, clock, random: systemRandom() });
  await store.migrate();
  return {
    store,
    ...speaking(driver),
    ...times(startMs, 0),
    async advance(hours) {
      hour += hours;
    },
    async restart() {
      hour = 0;
      await driver.script(EMPTY);
    },
    close: () => store.close(),
  };
}

/** The server's clock is nobody's to move; everything that was stored moves into the past instead. */
export async function mariadbModelEngine(): Promise<ModelEngine> {
  const database = await createDatabase();
  const driver = await openMysqlDriver({ url: database.url, clock: systemClock });
  const store = createSqlStore({ driver, clock: systemClock, random: systemRandom() });
  await store.migrate();
  const speech = speaking(driver);
  let startMs = systemClock.now();
  let movedMs = 0;
  return {
    store,
    ...speech,
    timeOf: (hour) => times(startMs, movedMs).timeOf(hour),
    hourOf: (stored) => times(startMs, movedMs).hourOf(stored),
    async advance(hours) {
      const shift = hours * HOUR_MS;
      const start = times(startMs, movedMs).timeOf(0);
      movedMs += shift;
      // Leases of one half hour end at once, as they do where the clock stands still: the order of stale ones shows it.
      await speech.change(
        `UPDATE _System_ConnectorWorkItem SET RunAfter = RunAfter - ?,
          LeaseUntil = ? + ROUND((LeaseUntil - ?) / ${HOUR_MS / 2}) * ${HOUR_MS / 2}`,
        [shift, start - shift, start],
      );
    },
    async restart() {
      startMs = systemClock.now();
      movedMs = 0;
      await driver.script(EMPTY);
    },
    async close() {
      await store.close();
      await database.drop();
    },
  };
}
