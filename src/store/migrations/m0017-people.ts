import type { Migration } from './migration.js';

/*
 * What people look at and act on: failures that nobody has decided on, and what was made by a replay.
 */

/** Dead and held items by the fingerprint of their error, until somebody replays or decides them. */
export const failureTable: Migration = {
  id: '0017_connector_failure',
  additive: true,
  sqlite: [
    `CREATE TABLE IF NOT EXISTS _System_ConnectorFailure (
      WorkId TEXT NOT NULL PRIMARY KEY,
      EventId TEXT NOT NULL,
      PackId INTEGER NOT NULL,
      Fingerprint TEXT NOT NULL,
      Route TEXT NOT NULL,
      ErrorCode TEXT NOT NULL,
      Message TEXT NOT NULL,
      FailedDate INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID`,
    `CREATE INDEX IF NOT EXISTS ix_connector_failure_group ON _System_ConnectorFailure
      (Fingerprint, FailedDate, WorkId)`,
  ],
  mysql: `CREATE TABLE IF NOT EXISTS _System_ConnectorFailure (
      WorkId VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      EventId VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      PackId BIGINT NOT NULL,
      Fingerprint VARCHAR(40) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      Route VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      ErrorCode VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      Message VARCHAR(255) NOT NULL,
      FailedDate BIGINT NOT NULL,
      PRIMARY KEY (WorkId) /*T![clustered_index] CLUSTERED */,
      KEY ix_connector_failure_group (Fingerprint, FailedDate, WorkId)
    ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`,
};

/** Which Event a replay made of which, and by which action: one child for each parent. */
export const replayTable: Migration = {
  id: '0018_connector_replay',
  additive: true,
  sqlite: [
    `CREATE TABLE IF NOT EXISTS _System_ConnectorReplay (
      ParentId TEXT NOT NULL PRIMARY KEY,
      ChildId TEXT NOT NULL,
      ActionId TEXT NOT NULL,
      CreatedDate INTEGER NOT NULL,
      CONSTRAINT uniq_connector_replay_child UNIQUE (ChildId)
    ) STRICT, WITHOUT ROWID`,
  ],
  mysql: `CREATE TABLE IF NOT EXISTS _System_ConnectorReplay (
      ParentId VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      ChildId VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      ActionId VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      CreatedDate BIGINT NOT NULL,
      PRIMARY KEY (ParentId) /*T![clustered_index] CLUSTERED */,
      UNIQUE KEY uniq_connector_replay_child (ChildId)
    ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`,
};
