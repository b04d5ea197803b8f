import { reading, writing } from '../statement.js';
import { MIGRATION } from './tables.js';

export interface MigrationRow {
  readonly Id: string;
  readonly Checksum: string;
  readonly Additive: number;
  readonly AppliedDate: number;
}

/** The table of applied migrations; the one DDL outside the migrations. */
export const MIGRATION_TABLE = {
  sqlite: `CREATE TABLE IF NOT EXISTS ${MIGRATION} (
    Id TEXT NOT NULL PRIMARY KEY, Checksum TEXT NOT NULL, Additive INTEGER NOT NULL, AppliedDate INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID`,
  mysql: `CREATE TABLE IF NOT EXISTS ${MIGRATION} (
    Id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    Checksum VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    Additive TINYINT NOT NULL,
    AppliedDate BIGINT NOT NULL,
    PRIMARY KEY (Id) /*T![clustered_index] CLUSTERED */
  ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`,
} as const;

/** Works before the table exists, on both engines. */
export const findMigrationTable = reading('migrate.findTable', (d) =>
  d.name === 'sqlite'
    ? `SELECT name AS Name FROM sqlite_schema WHERE type = 'table' AND name = '${MIGRATION}'`
    : `SELECT TABLE_NAME AS Name FROM information_schema.TABLES
       WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '${MIGRATION}'`,
);

export const selectMigrations = reading(
  'migrate.selectMigrations',
  () => `SELECT Id, Checksum, Additive, AppliedDate FROM ${MIGRATION} ORDER BY Id`,
);

export const insertMigration = writing(
  'migrate.insertMigration',
  (d) => `INSERT INTO ${MIGRATION} (Id, Checksum, Additive, AppliedDate) VALUES (?, ?, ?, ${d.now})`,
);

/** Liveness of the connection. */
export const ping = reading('migrate.ping', () => 'SELECT 1 AS One');
