import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { systemClock, systemRandom } from '../../src/core/system.js';
import { openSqliteDriver } from '../../src/store/dialects/sqlite/driver.js';
import { createSqlStore } from '../../src/store/sql-store.js';
import type { Engine } from '../conformance/engine.js';

/** SQLite in this thread, on a file of its own. */
export const sqliteEngine: Engine = {
  name: 'sqlite',
  async open() {
    const folder = mkdtempSync(join(tmpdir(), 'lanehead-sqlite-'));
    const path = join(folder, 'store.db');
    const driver = openSqliteDriver({ path, clock: systemClock });
    const store = createSqlStore({ driver, clock: systemClock, random: systemRandom() });
    await store.migrate();
    const beside = new Database(path);
    return {
      store,
      driver,
      async sql(text, params = []) {
        const statement = beside.prepare(text);
        return (statement.reader ? statement.all(...params) : [statement.run(...params)]) as never;
      },
      async close() {
        beside.close();
        await store.close();
        rmSync(folder, { recursive: true, force: true });
      },
    };
  },
};
