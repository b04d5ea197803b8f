import type { Migration } from './migration.js';

/*
 * The life of an item after its first run: how many ended how, and what people did about them.
 */

/** How many items ended, by pack, class and end; spread over slots, so that finalizers seldom wait for each other. */
export const tallyTable: Migration = {
  id: '0013_connector_tally',
  additive: true,
  sqlite: [
    `CREATE TABLE IF NOT EXISTS _System_ConnectorTally (
      PackId INTEGER NOT NULL,
      QueueClass TEXT NOT NULL,
      State TEXT NOT NULL,
      Slot INTEGER NOT NULL,
      Total INTEGER NOT NULL,
      PRIMARY KEY (PackId, QueueClass, State, Slot)
    ) STRICT, WITHOUT ROWID`,
  ],
  mysql: `CREATE TABLE IF NOT EXISTS _System_ConnectorTally (
      PackId BIGINT NOT NULL,
      QueueClass VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      State VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      Slot INT NOT NULL,
      Total BIGINT NOT NULL,
      PRIMARY KEY (PackId, QueueClass, State, Slot) /*T![clustered_index] CLUSTERED */
    ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`,
};

/** What people did, who and why: the audit log, and the place where a long action goes on after a crash. */
export const actionTable: Migration = {
  id: '0014_connector_action',
  additive: true,
  sqlite: [
    `CREATE TABLE IF NOT EXISTS _System_ConnectorAction (
      ActionId TEXT NOT NULL PRIMARY KEY,
      Kind TEXT NOT NULL,
      Actor TEXT NOT NULL,
      Reason TEXT NOT NULL,
      Target TEXT NOT NULL,
      TargetHash BLOB NOT NULL,
      Status TEXT NOT NULL DEFAULT 'running',
      Position TEXT,
      Matched INTEGER NOT NULL DEFAULT 0,
      Changed INTEGER NOT NULL DEFAULT 0,
      Skipped INTEGER NOT NULL DEFAULT 0,
      CreatedDate INTEGER NOT NULL,
      UpdatedDate INTEGER NOT NULL,
      FinishedDate INTEGER
    ) STRICT, WITHOUT ROWID`,
    `CREATE INDEX IF NOT EXISTS ix_connector_action_created ON _System_ConnectorAction (CreatedDate, ActionId)`,
  ],
  mysql: `CREATE TABLE IF NOT EXISTS _System_ConnectorAction (
      ActionId VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      Kind VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      Actor VARCHAR(128) NOT NULL,
      Reason TEXT NOT NULL,
      Target TEXT NOT NULL,
      TargetHash BINARY(32) NOT NULL,
      Status VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'running',
      Position VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin,
      Matched BIGINT NOT NULL DEFAULT 0,
      Changed BIGINT NOT NULL DEFAULT 0,
      Skipped BIGINT NOT NULL DEFAULT 0,
      CreatedDate BIGINT NOT NULL,
      UpdatedDate BIGINT NOT NULL,
      FinishedDate BIGINT,
      PRIMARY KEY (ActionId) /*T![clustered_index] CLUSTERED */,
      KEY ix_connector_action_created (CreatedDate, ActionId)
    ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`,
};
