import { randomBytes } from 'node:crypto';
import { createConnection } from 'mysql2/promise';

export { type MariadbServer, startMariadb } from './mariadb-server.js';

/**
 * A server on which tests may create databases: `LANEHEAD_TEST_MYSQL_URL` where it is set, else a private
 * MariaDB that this vitest run shares. Ends in `/`, names no database.
 */
export async function mysqlUrl(): Promise<string> {
  const given = process.env.LANEHEAD_TEST_MYSQL_URL;
  if (given) return new URL('/', given).href;
  const lender = process.env.LANEHEAD_TEST_MARIADB_LENDER;
  if (!lender) throw new Error('mysqlUrl() works inside vitest only; elsewhere use startMariadb()');
  const response = await fetch(lender);
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return text;
}

export interface TestDatabase {
  readonly name: string;
  /** With the database's name as path; what `DATABASE_URL` takes. */
  readonly url: string;
  /** Drops it, with everything in it. Twice is fine. */
  drop(): Promise<void>;
}

async function execute(serverUrl: string, statement: string): Promise<void> {
  const connection = await createConnection(serverUrl);
  try {
    await connection.query(statement);
  } finally {
    await connection.end();
  }
}

/**
 * An empty database of its own, so that test files never see each other's rows.
 * @param serverUrl default: the server of this run.
 */
export async function createDatabase(serverUrl?: string): Promise<TestDatabase> {
  const server = serverUrl ?? (await mysqlUrl());
  const name = `lanehead_${randomBytes(6).toString('hex')}`;
  await execute(server, `CREATE DATABASE ${name}`);
  return {
    name,
    url: new URL(name, server).href,
    drop: () => execute(server, `DROP DATABASE IF EXISTS ${name}`),
  };
}
