import type { Migration } from './migration.js';

/** How much of a declared limit is used up, by scope: a pack, a namespace of it, or a source there. */
export const limitTable: Migration = {
  id: '0010_connector_limit',
  additive: true,
  sqlite: [
    `CREATE TABLE IF NOT EXISTS _System_ConnectorLimit (
      LimitKey TEXT NOT NULL PRIMARY KEY,
      PackId INTEGER NOT NULL,
      Arrival INTEGER NOT NULL,
      DueDate INTEGER
    ) STRICT, WITHOUT ROWID`,
    `CREATE INDEX IF NOT EXISTS ix_connector_limit_due ON _System_ConnectorLimit
      (PackId, DueDate, LimitKey)`,
  ],
  mysql: `CREATE TABLE IF NOT EXISTS _System_ConnectorLimit (
      LimitKey VARCHAR(72) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      PackId BIGINT NOT NULL,
      Arrival BIGINT NOT NULL,
      DueDate BIGINT,
      PRIMARY KEY (LimitKey) /*T![clustered_index] CLUSTERED */,
      KEY ix_connector_limit_due (PackId, DueDate, LimitKey)
    ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`,
};

/** Due heads that wait for their source's limit, in order; they are out of the ready range meanwhile. */
export const limitedTable: Migration = {
  id: '0011_connector_limited',
  additive: true,
  sqlite: [
    `CREATE TABLE IF NOT EXISTS _System_ConnectorLimited (
      LimitKey TEXT NOT NULL,
      LaneOrdinal INTEGER NOT NULL,
      WorkId TEXT NOT NULL,
      PRIMARY KEY (LimitKey, LaneOrdinal, WorkId)
    ) STRICT, WITHOUT ROWID`,
  ],
  mysql: `CREATE TABLE IF NOT EXISTS _System_ConnectorLimited (
      LimitKey VARCHAR(72) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      LaneOrdinal BIGINT NOT NULL,
      WorkId VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      PRIMARY KEY (LimitKey, LaneOrdinal, WorkId) /*T![clustered_index] CLUSTERED */
    ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`,
};
