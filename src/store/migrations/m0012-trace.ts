import type { Migration } from './migration.js';

/**
 * The trace a receipt belongs to, so that the run of its Events can go on with it in another process (W3C Trace
 * Context: `traceparent`, then `tracestate` behind a space). A table of its own: adding a column is no idempotent DDL
 * on MySQL 8, and where nothing is traced no row is written.
 */
export const traceTable: Migration = {
  id: '0012_connector_trace',
  additive: true,
  sqlite: [
    `CREATE TABLE IF NOT EXISTS _System_ConnectorTrace (
      ReceiptId TEXT NOT NULL PRIMARY KEY,
      TraceContext TEXT NOT NULL
    ) STRICT, WITHOUT ROWID`,
  ],
  mysql: `CREATE TABLE IF NOT EXISTS _System_ConnectorTrace (
      ReceiptId VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      TraceContext VARCHAR(600) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      PRIMARY KEY (ReceiptId) /*T![clustered_index] CLUSTERED */
    ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`,
};
