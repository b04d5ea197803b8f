import { createHash } from 'node:crypto';
import { LaneheadError } from '../../core/errors.js';
import type { Driver } from '../driver.js';
import { read, write } from '../plan.js';
import * as sql from '../statements/migrate.js';
import type { SchemaStatus } from '../store.js';
import { MIGRATIONS } from './index.js';
import type { Migration } from './migration.js';

/** SHA-256 of what a migration runs on one engine, white space aside. */
export function checksum(migration: Migration, engine: 'sqlite' | 'mysql'): string {
  const text = engine === 'sqlite' ? migration.sqlite.join(';\n') : migration.mysql;
  return createHash('sha256').update(text.replace(/\s+/g, ' ').trim()).digest('hex');
}

async function history(driver: Driver): Promise<sql.MigrationRow[]> {
  const exists = await driver.query(() => read(sql.findMigrationTable));
  return exists.length === 0 ? [] : await driver.query(() => read<sql.MigrationRow>(sql.selectMigrations));
}

export async function schemaStatus(driver: Driver, migrations = MIGRATIONS): Promise<SchemaStatus> {
  const rows = await history(driver);
  const known = new Map(migrations.map((migration) => [migration.id, migration]));
  const applied = new Set(rows.map((row) => row.Id));
  return {
    applied: rows
      .filter((row) => known.has(row.Id))
      .map((row) => ({ id: row.Id, appliedAt: row.AppliedDate })),
    pending: migrations.filter((migration) => !applied.has(migration.id)).map((migration) => migration.id),
    unknown: rows
      .filter((row) => !known.has(row.Id))
      .map((row) => ({ id: row.Id, additive: row.Additive === 1 })),
  };
}

/**
 * Applies what is pending, in order; safe from several processes at once.
 * @throws migration_changed, schema_newer
 */
export async function migrate(driver: Driver, migrations = MIGRATIONS): Promise<{ applied: string[] }> {
  const engine = driver.dialect.name;
  return await driver.exclusively('lanehead.migrate', async () => {
    await driver.script([sql.MIGRATION_TABLE[engine]]);
    const rows = await history(driver);
    refuseForeign(rows, migrations, engine);
    const done = new Set(rows.map((row) => row.Id));
    const applied: string[] = [];
    for (const migration of migrations) {
      if (done.has(migration.id)) continue;
      await driver.script(engine === 'sqlite' ? migration.sqlite : [migration.mysql]);
      const row = [migration.id, checksum(migration, engine), migration.additive ? 1 : 0];
      await driver.query(() => write(sql.insertMigration, row));
      applied.push(migration.id);
    }
    return { applied };
  });
}

/** A database that a newer binary changed in a way this one does not know is refused; additions are not. */
export async function requireSchema(driver: Driver, migrations = MIGRATIONS): Promise<void> {
  const rows = await history(driver);
  refuseForeign(rows, migrations, driver.dialect.name);
  const done = new Set(rows.map((row) => row.Id));
  const missing = migrations.filter((migration) => !done.has(migration.id));
  if (missing.length > 0) {
    throw new LaneheadError(
      'schema_missing',
      `not applied: ${missing.map((migration) => migration.id).join(', ')}`,
    );
  }
}

function refuseForeign(
  rows: readonly sql.MigrationRow[],
  migrations: readonly Migration[],
  engine: 'sqlite' | 'mysql',
): void {
  const known = new Map(migrations.map((migration) => [migration.id, migration]));
  for (const row of rows) {
    const migration = known.get(row.Id);
    if (migration === undefined) {
      if (row.Additive === 1) continue;
      throw new LaneheadError(
        'schema_newer',
        `the database has ${row.Id}, which changes what this binary relies on`,
      );
    }
    if (checksum(migration, engine) !== row.Checksum) {
      throw new LaneheadError(
        'migration_changed',
        `${row.Id} was applied with another text than this binary has`,
      );
    }
  }
}
