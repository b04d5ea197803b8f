import type { Migration } from './migration.js';

/*
 * Authority rows. Enqueue locks namespace, then pack, by clustered primary key (before TiDB 8.5.6 a first
 * FOR UPDATE on a non-clustered unique key could lose its lock). The hint comment is a comment elsewhere.
 */

export const namespaceTable: Migration = {
  id: '0001_namespace',
  additive: true,
  sqlite: [
    `CREATE TABLE IF NOT EXISTS _System_Namespace (
      Namespace TEXT NOT NULL PRIMARY KEY,
      CreatedDate INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID`,
  ],
  mysql: `CREATE TABLE IF NOT EXISTS _System_Namespace (
      Namespace VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      CreatedDate BIGINT NOT NULL,
      PRIMARY KEY (Namespace) /*T![clustered_index] CLUSTERED */
    ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`,
};

export const installedPackTable: Migration = {
  id: '0002_installed_pack',
  additive: true,
  sqlite: [
    `CREATE TABLE IF NOT EXISTS _System_InstalledPack (
      PackId INTEGER PRIMARY KEY AUTOINCREMENT,
      Namespace TEXT NOT NULL,
      Pack TEXT NOT NULL,
      Version TEXT NOT NULL,
      Generation INTEGER NOT NULL DEFAULT 1,
      Status TEXT NOT NULL DEFAULT 'active',
      NextLaneOrdinal INTEGER NOT NULL,
      NextHistoryOrdinal INTEGER NOT NULL DEFAULT 1,
      CreatedDate INTEGER NOT NULL,
      UpdatedDate INTEGER NOT NULL,
      CONSTRAINT uniq_installed_pack_name UNIQUE (Namespace, Pack)
    ) STRICT`,
  ],
  mysql: `CREATE TABLE IF NOT EXISTS _System_InstalledPack (
      PackId BIGINT NOT NULL AUTO_INCREMENT,
      Namespace VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      Pack VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      Version VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      Generation BIGINT NOT NULL DEFAULT 1,
      Status VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'active',
      NextLaneOrdinal BIGINT NOT NULL,
      NextHistoryOrdinal BIGINT NOT NULL DEFAULT 1,
      CreatedDate BIGINT NOT NULL,
      UpdatedDate BIGINT NOT NULL,
      PRIMARY KEY (PackId) /*T![clustered_index] CLUSTERED */,
      UNIQUE KEY uniq_installed_pack_name (Namespace, Pack)
    ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`,
};

/** One row per pack; whoever claims fresh work locks it, so that the processing budget is never exceeded (DRN). */
export const drainTable: Migration = {
  id: '0003_connector_drain',
  additive: true,
  sqlite: [
    `CREATE TABLE IF NOT EXISTS _System_ConnectorDrain (
      PackId INTEGER NOT NULL PRIMARY KEY
    ) STRICT`,
  ],
  mysql: `CREATE TABLE IF NOT EXISTS _System_ConnectorDrain (
      PackId BIGINT NOT NULL,
      PRIMARY KEY (PackId) /*T![clustered_index] CLUSTERED */
    ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`,
};
