import { createPool } from 'mysql2/promise';
import { systemClock, systemRandom } from '../../src/core/system.js';
import { openMysqlDriver } from '../../src/store/dialects/mysql/driver.js';
import type { MysqlDriverOptions } from '../../src/store/dialects/mysql/options.js';
import { createSqlStore } from '../../src/store/sql-store.js';
import type { Engine } from '../conformance/engine.js';
import { createDatabase, type TestDatabase } from './mariadb.js';

/** A real MariaDB, in a database of its own; `options` choose isolation and how transactions begin. */
export function mysqlEngine(name: string, options: Partial<MysqlDriverOptions> = {}): Engine {
  return {
    name,
    async open() {
      const database = await createDatabase();
      const opened = await mysqlEngineOn(database, name, options).open();
      return {
        ...opened,
        async close() {
          await opened.close();
          await database.drop();
        },
      };
    },
  };
}

/** The same on a given database, for several connections to one. */
export function mysqlEngineOn(
  database: TestDatabase,
  name: string,
  options: Partial<MysqlDriverOptions> = {},
): Engine {
  return {
    name,
    async open() {
      const driver = await openMysqlDriver({ url: database.url, clock: systemClock, ...options });
      const store = createSqlStore({ driver, clock: systemClock, random: systemRandom() });
      await store.migrate();
      const beside = createPool({ uri: database.url, connectionLimit: 2 });
      return {
        store,
        driver,
        async sql(text, params = []) {
          const [rows] = await beside.query(text, params as unknown[]);
          return (Array.isArray(rows) ? rows : [rows]) as never;
        },
        async close() {
          await beside.end();
          await store.close();
        },
      };
    },
  };
}
