/** A database for processes that come and go, seen from beside them: its rows, and every change of a row's state. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { createConnection } from 'mysql2/promise';
import { openStore } from '../../src/runtime/open-store.js';
import type { StoredItem, Transition } from './history.js';
import { createDatabase } from './mariadb.js';

export interface CrashDatabase {
  readonly engine: 'sqlite' | 'mysql';
  readonly url: string;
  sql<R>(text: string): Promise<R[]>;
  close(): Promise<void>;
}

/** An Event's item, under the name its sender knows it by. */
export interface ItemRow extends StoredItem {
  readonly attempt: number;
  readonly failures: number;
  readonly epoch: number;
  readonly leaseUntil: number | null;
}

const AUDIT_COLUMNS = `WorkId VARCHAR(32), OldState VARCHAR(16), NewState VARCHAR(16), Epoch BIGINT,
  OldLeaseUntil BIGINT, Failure VARCHAR(64), At BIGINT`;

/** Notes every change of state or owner; within a lane the numbers of the notes rise as the changes happened. */
const auditTrigger = (now: string): string => `CREATE TRIGGER CrashAuditTrigger
  AFTER UPDATE ON _System_ConnectorWorkItem FOR EACH ROW BEGIN
    INSERT INTO CrashAudit (WorkId, OldState, NewState, Epoch, OldLeaseUntil, Failure, At)
    SELECT NEW.WorkId, OLD.State, NEW.State, NEW.OwnershipEpoch, OLD.LeaseUntil,
      CASE WHEN NEW.Failures > OLD.Failures THEN NEW.LastErrorCode END, ${now} FROM (SELECT 1 AS One) q
    WHERE OLD.State <> NEW.State OR OLD.OwnershipEpoch <> NEW.OwnershipEpoch;
  END`;

/** Migrated, with its audit; no connection stays open, so that whoever opens a killed file recovers it. */
export async function sqliteCrashDatabase(parent: string = tmpdir()): Promise<CrashDatabase> {
  const folder = mkdtempSync(join(parent, 'lanehead-crash-'));
  const path = join(folder, 'store.db');
  const url = `sqlite:${path}`;
  await migrate(url);
  const beside = <T>(use: (connection: Database.Database) => T): T => {
    const connection = new Database(path);
    try {
      return use(connection);
    } finally {
      connection.close();
    }
  };
  beside((connection) => {
    connection.exec(`CREATE TABLE CrashAudit (Id INTEGER PRIMARY KEY, ${AUDIT_COLUMNS})`);
    connection.exec(auditTrigger(`CAST(unixepoch('subsec') * 1000 AS INTEGER)`));
  });
  return {
    engine: 'sqlite',
    url,
    sql: async <R>(text: string) => beside((connection) => connection.prepare(text).all() as R[]),
    close: async () => rmSync(folder, { recursive: true, force: true }),
  };
}

/**
 * Migrated, with its audit; no connection stays open, so that a server may be killed at any moment.
 * @param serverUrl default: the server of this run.
 */
export async function mysqlCrashDatabase(serverUrl?: string): Promise<CrashDatabase> {
  const database = await createDatabase(serverUrl);
  await migrate(database.url);
  const beside = async <R>(text: string): Promise<R[]> => {
    const connection = await createConnection(database.url);
    try {
      return (await connection.query(text))[0] as R[];
    } finally {
      await connection.end();
    }
  };
  await beside(`CREATE TABLE CrashAudit (Id BIGINT AUTO_INCREMENT PRIMARY KEY, ${AUDIT_COLUMNS})`);
  await beside(auditTrigger('CAST(ROUND(UNIX_TIMESTAMP(NOW(3)) * 1000) AS SIGNED)'));
  return { engine: 'mysql', url: database.url, sql: beside, close: database.drop };
}

async function migrate(databaseUrl: string): Promise<void> {
  const store = await openStore({ databaseUrl, unsafeDurability: false, poolSize: 1 });
  await store.migrate();
  await store.close();
}

/** As flows name it too: delivery and ordinal. */
const ITEM = `CONCAT(e.DeliveryKey, '/', e.DeliveryOrdinal)`;

export function itemRows(database: CrashDatabase): Promise<ItemRow[]> {
  return database.sql(`SELECT ${ITEM} AS item, e.ReceiptId AS receipt, w.State AS state,
      w.Attempt AS attempt, w.Failures AS failures, w.OwnershipEpoch AS epoch, w.LeaseUntil AS leaseUntil
    FROM _System_ConnectorEvent e LEFT JOIN _System_ConnectorWorkItem w ON w.EventId = e.EventId`);
}

export async function transitionRows(database: CrashDatabase): Promise<Transition[]> {
  const items = await database.sql<{
    workId: string;
    item: string;
  }>(`SELECT w.WorkId AS workId, ${ITEM} AS item
    FROM _System_ConnectorEvent e JOIN _System_ConnectorWorkItem w ON w.EventId = e.EventId`);
  const names = new Map(items.map(({ workId, item }) => [workId, item]));
  // Joined here: the column's character set, which is the server's, would keep the join from using an index.
  const rows = await database.sql<Omit<Transition, 'item'> & { workId: string }>(`SELECT WorkId AS workId,
      OldState AS \`from\`, NewState AS \`to\`, Epoch AS epoch, At AS at, OldLeaseUntil AS leaseUntil,
      Failure AS failure
    FROM CrashAudit ORDER BY Id`);
  return rows.map(({ workId, ...transition }) => ({ ...transition, item: names.get(workId) ?? workId }));
}

/** Receipts, Events or WorkItems without the rest of what their commit should have stored; none is right. */
export async function halfStored(database: CrashDatabase): Promise<readonly string[]> {
  const receipts = await database.sql<{
    id: string;
  }>(`SELECT r.ReceiptId AS id FROM _System_ConnectorReceipt r
    LEFT JOIN _System_ConnectorEvent e ON e.ReceiptId = r.ReceiptId
    GROUP BY r.ReceiptId, r.EventCount HAVING COUNT(e.EventId) <> r.EventCount`);
  const events = await database.sql<{ id: string }>(`SELECT e.EventId AS id FROM _System_ConnectorEvent e
    LEFT JOIN _System_ConnectorWorkItem w ON w.EventId = e.EventId
    LEFT JOIN _System_ConnectorReceipt r ON r.ReceiptId = e.ReceiptId
    WHERE w.WorkId IS NULL OR r.ReceiptId IS NULL`);
  return [...receipts, ...events].map(({ id }) => id);
}
