import type { Migration } from './migration.js';

/*
 * The facts: what was received, and what it means. Immutable but for the counters of duplicates, the quarantine,
 * and the executor columns that older binaries use (EVO).
 */

/** `Body` is NULL when an Event holds the very same bytes (`BodyEventId`): a body is written once. */
export const receiptTable: Migration = {
  id: '0004_connector_receipt',
  additive: true,
  sqlite: [
    `CREATE TABLE IF NOT EXISTS _System_ConnectorReceipt (
      ReceiptId TEXT NOT NULL PRIMARY KEY,
      PackId INTEGER NOT NULL,
      Route TEXT NOT NULL,
      Method TEXT NOT NULL,
      Target TEXT NOT NULL,
      Headers TEXT NOT NULL,
      Body BLOB,
      BodyEventId TEXT,
      BodyHash BLOB NOT NULL,
      BodyBytes INTEGER NOT NULL,
      Verification TEXT NOT NULL,
      EventCount INTEGER NOT NULL,
      QuarantinedDate INTEGER,
      LastErrorCode TEXT,
      LastError TEXT,
      ReceivedDate INTEGER NOT NULL,
      CreatedDate INTEGER NOT NULL
    ) STRICT`,
    `CREATE INDEX IF NOT EXISTS ix_connector_receipt_quarantine
      ON _System_ConnectorReceipt (QuarantinedDate, ReceiptId) WHERE QuarantinedDate IS NOT NULL`,
  ],
  mysql: `CREATE TABLE IF NOT EXISTS _System_ConnectorReceipt (
      ReceiptId VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      PackId BIGINT NOT NULL,
      Route VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      Method VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      Target TEXT NOT NULL,
      Headers MEDIUMTEXT NOT NULL,
      Body LONGBLOB,
      BodyEventId VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin,
      BodyHash BINARY(32) NOT NULL,
      BodyBytes BIGINT NOT NULL,
      Verification VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      EventCount INT NOT NULL,
      QuarantinedDate BIGINT,
      LastErrorCode VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin,
      LastError TEXT,
      ReceivedDate BIGINT NOT NULL,
      CreatedDate BIGINT NOT NULL,
      PRIMARY KEY (ReceiptId) /*T![clustered_index] CLUSTERED */,
      KEY ix_connector_receipt_quarantine (QuarantinedDate, ReceiptId)
    ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`,
};

/** Outlives the rows it points to: a redelivery after pruning is still a duplicate. */
export const idempotencyTable: Migration = {
  id: '0005_connector_idempotency',
  additive: true,
  sqlite: [
    `CREATE TABLE IF NOT EXISTS _System_ConnectorIdempotency (
      IdempotencyKey BLOB NOT NULL PRIMARY KEY,
      PackId INTEGER NOT NULL,
      ContentHash BLOB NOT NULL,
      ReceiptId TEXT NOT NULL,
      EventId TEXT,
      Duplicates INTEGER NOT NULL DEFAULT 0,
      FirstSeenDate INTEGER NOT NULL,
      LastSeenDate INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID`,
  ],
  mysql: `CREATE TABLE IF NOT EXISTS _System_ConnectorIdempotency (
      IdempotencyKey BINARY(32) NOT NULL,
      PackId BIGINT NOT NULL,
      ContentHash BINARY(32) NOT NULL,
      ReceiptId VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      EventId VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin,
      Duplicates BIGINT NOT NULL DEFAULT 0,
      FirstSeenDate BIGINT NOT NULL,
      LastSeenDate BIGINT NOT NULL,
      PRIMARY KEY (IdempotencyKey) /*T![clustered_index] CLUSTERED */
    ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`,
};

export const eventTable: Migration = {
  id: '0006_connector_event',
  additive: true,
  sqlite: [
    `CREATE TABLE IF NOT EXISTS _System_ConnectorEvent (
      EventId TEXT NOT NULL PRIMARY KEY,
      PackId INTEGER NOT NULL,
      ReceiptId TEXT,
      EventType TEXT NOT NULL,
      SourceKey TEXT NOT NULL,
      DeliveryKey TEXT NOT NULL,
      DeliveryOrdinal INTEGER NOT NULL DEFAULT 0,
      Route TEXT NOT NULL,
      RouteVersion INTEGER NOT NULL DEFAULT 1,
      IdempotencyKey BLOB NOT NULL,
      ContentHash BLOB,
      QueueClass TEXT NOT NULL DEFAULT 'default',
      Origin TEXT NOT NULL DEFAULT 'webhook',
      ParentId TEXT,
      ConflictOf TEXT,
      ReceivedDate INTEGER NOT NULL,
      CreatedDate INTEGER NOT NULL,
      Status TEXT NOT NULL DEFAULT 'pending',
      Attempt INTEGER NOT NULL DEFAULT 0,
      NextRetryDate INTEGER,
      ClaimToken TEXT,
      ClaimedBy TEXT,
      ClaimedDate INTEGER,
      ProcessedDate INTEGER,
      LastError TEXT,
      ReplayedAt INTEGER,
      ExecutionOwner TEXT NOT NULL DEFAULT 'event',
      Companion TEXT,
      Payload BLOB NOT NULL,
      CONSTRAINT uniq_connector_event_idempotency UNIQUE (IdempotencyKey)
    ) STRICT`,
  ],
  mysql: `CREATE TABLE IF NOT EXISTS _System_ConnectorEvent (
      EventId VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      PackId BIGINT NOT NULL,
      ReceiptId VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin,
      EventType VARCHAR(128) NOT NULL,
      SourceKey VARCHAR(512) NOT NULL,
      DeliveryKey VARCHAR(512) NOT NULL,
      DeliveryOrdinal INT NOT NULL DEFAULT 0,
      Route VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      RouteVersion INT NOT NULL DEFAULT 1,
      IdempotencyKey BINARY(32) NOT NULL,
      ContentHash BINARY(32),
      QueueClass VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'default',
      Origin VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'webhook',
      ParentId VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin,
      ConflictOf VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin,
      ReceivedDate BIGINT NOT NULL,
      CreatedDate BIGINT NOT NULL,
      Status VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'pending',
      Attempt INT NOT NULL DEFAULT 0,
      NextRetryDate BIGINT,
      ClaimToken VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin,
      ClaimedBy VARCHAR(128),
      ClaimedDate BIGINT,
      ProcessedDate BIGINT,
      LastError TEXT,
      ReplayedAt BIGINT,
      ExecutionOwner VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'event',
      Companion MEDIUMTEXT,
      Payload LONGBLOB NOT NULL,
      PRIMARY KEY (EventId) /*T![clustered_index] CLUSTERED */,
      UNIQUE KEY uniq_connector_event_idempotency (IdempotencyKey)
    ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`,
};
