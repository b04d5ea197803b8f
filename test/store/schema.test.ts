import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MIGRATIONS } from '../../src/store/migrations/index.js';
import type { Migration } from '../../src/store/migrations/migration.js';
import { checksum, migrate, requireSchema } from '../../src/store/migrations/migrator.js';
import type { OpenedStore } from '../conformance/engine.js';
import { createDatabase } from '../support/mariadb.js';
import { mysqlEngine, mysqlEngineOn } from '../support/mysql-engine.js';
import { sqliteEngine } from '../support/sqlite-engine.js';

const root = join(import.meta.dirname, '../..');
/** `npm run schema` writes the committed files anew; otherwise they are compared. */
const update = process.env.LANEHEAD_UPDATE_SCHEMA === '1';

function expectCommitted(path: string, text: string): void {
  const file = join(root, path);
  if (update) writeFileSync(file, text);
  expect(existsSync(file) ? readFileSync(file, 'utf8') : `${path} is missing: npm run schema`).toBe(text);
}

const DUMP = {
  async sqlite(at: OpenedStore): Promise<string> {
    const rows = await at.sql<{ sql: string }>(
      `SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY type DESC, name`,
    );
    return `${rows.map((row) => `${row.sql};`).join('\n\n')}\n`;
  },
  async mysql(at: OpenedStore): Promise<string> {
    const tables = await at.sql<{ Name: string }>(
      'SELECT TABLE_NAME AS Name FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() ORDER BY TABLE_NAME',
    );
    const texts: string[] = [];
    for (const { Name } of tables) {
      const [row] = await at.sql<{ 'Create Table': string }>(`SHOW CREATE TABLE ${Name}`);
      texts.push(`${row!['Create Table'].replace(/ AUTO_INCREMENT=\d+/, '')};`);
    }
    return `${texts.join('\n\n')}\n`;
  },
};

describe('schema', () => {
  it('the manifest holds the checksum of every migration; none was edited', () => {
    const sums = Object.fromEntries(
      MIGRATIONS.map((migration) => [
        migration.id,
        { sqlite: checksum(migration, 'sqlite'), mysql: checksum(migration, 'mysql') },
      ]),
    );
    expectCommitted('src/store/migrations/manifest.json', `${JSON.stringify(sums, null, 2)}\n`);
    expect(MIGRATIONS.map((migration) => migration.id)).toEqual(
      MIGRATIONS.map((migration) => migration.id).toSorted(),
    );
  });

  for (const engine of [sqliteEngine, mysqlEngine('mysql')]) {
    describe(engine.name, () => {
      let at: OpenedStore;
      beforeAll(async () => {
        at = await engine.open();
      });
      afterAll(() => at.close());

      it('comes out as the committed dump says', async () => {
        // SHOW CREATE TABLE words differ between servers; the committed dump is MariaDB 10.11's.
        const [version] = engine.name === 'mysql' ? await at.sql<{ v: string }>('SELECT VERSION() AS v') : [];
        if (version !== undefined && !version.v.startsWith('10.11.')) return;
        expectCommitted(`schema/${engine.name}.sql`, await DUMP[engine.name as 'sqlite' | 'mysql'](at));
      });

      it('applies nothing twice and says what is applied', async () => {
        expect(await at.store.migrate()).toEqual({ applied: [] });
        const status = await at.store.schemaStatus();
        expect(status.applied.map((entry) => entry.id)).toEqual(MIGRATIONS.map((migration) => migration.id));
        expect(status).toMatchObject({ pending: [], unknown: [] });
      });

      const later = (additive: boolean): Migration => ({
        id: '9999_later',
        additive,
        sqlite: ['CREATE TABLE IF NOT EXISTS Later (Id INTEGER PRIMARY KEY)'],
        mysql: 'CREATE TABLE IF NOT EXISTS Later (Id BIGINT PRIMARY KEY)',
      });

      it('accepts a database that is newer by additions only, refuses any other newer one', async () => {
        await migrate(at.driver, [...MIGRATIONS, later(true)]);
        await requireSchema(at.driver);
        expect(await at.store.migrate()).toEqual({ applied: [] });
        await at.sql('UPDATE _System_Migration SET Additive = 0 WHERE Id = ?', ['9999_later']);
        await expect(requireSchema(at.driver)).rejects.toMatchObject({ code: 'schema_newer' });
        await expect(at.store.migrate()).rejects.toMatchObject({ code: 'schema_newer' });
        await at.sql('DELETE FROM _System_Migration WHERE Id = ?', ['9999_later']);
      });

      it('refuses an applied migration whose text has changed', async () => {
        await at.sql('UPDATE _System_Migration SET Checksum = ? WHERE Id = ?', ['0', MIGRATIONS[0]!.id]);
        await expect(at.store.migrate()).rejects.toMatchObject({ code: 'migration_changed' });
        await at.sql('UPDATE _System_Migration SET Checksum = ? WHERE Id = ?', [
          checksum(MIGRATIONS[0]!, at.driver.dialect.name),
          MIGRATIONS[0]!.id,
        ]);
      });

      it('names what is missing', async () => {
        await expect(
          requireSchema(at.driver, [...MIGRATIONS, { ...later(true), id: '9998_missing' }]),
        ).rejects.toMatchObject({
          code: 'schema_missing',
          message: expect.stringContaining('9998_missing'),
        });
      });
    });
  }

  it('several processes may migrate one database at once', async () => {
    const database = await createDatabase();
    const opened = await Promise.all(
      Array.from({ length: 4 }, (_, i) => mysqlEngineOn(database, `process ${i}`).open()),
    );
    const [rows] = await Promise.all([
      opened[0]!.sql<{ n: number }>('SELECT COUNT(*) AS n FROM _System_Migration'),
    ]);
    expect(rows).toEqual([{ n: MIGRATIONS.length }]);
    for (const at of opened) await at.close();
    await database.drop();
  }, 120_000);
});
