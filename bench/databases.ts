/** A fresh database for each contestant of each run, under the durable settings the product asks for. */
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { createConnection } from 'mysql2/promise';
import { createDatabase, startMariadb } from '../test/support/mariadb.js';

export interface BenchDatabase {
  readonly url: string;
  /** Rows of one short query. */
  rows(sql: string): Promise<readonly Record<string, unknown>[]>;
  drop(): Promise<void>;
}

export interface BenchEngine {
  readonly name: 'sqlite' | 'mysql';
  /** A new database: empty, or holding what `original` holds. */
  create(): Promise<BenchDatabase>;
  /** A database like `original`, if copying one is cheaper than filling it; `null`: fill another one. */
  copy(original: BenchDatabase): Promise<BenchDatabase> | null;
  stop(): Promise<void>;
}

export function openEngine(name: 'sqlite' | 'mysql'): Promise<BenchEngine> {
  return name === 'sqlite' ? openSqlite() : openMysql();
}

/** Below the project's folder: the usual place for temporary files may be in memory, where a commit costs nothing. */
const DATA_FOLDER = '.tmp';

async function openSqlite(): Promise<BenchEngine> {
  mkdirSync(DATA_FOLDER, { recursive: true });
  const folder = mkdtempSync(join(DATA_FOLDER, 'bench-data-'));
  let count = 0;
  const at = (path: string): BenchDatabase => ({
    url: `sqlite:${path}`,
    rows: async (sql) => {
      const db = new Database(path, { readonly: true });
      const rows = db.prepare(sql).all() as Record<string, unknown>[];
      db.close();
      return rows;
    },
    drop: async () => {
      for (const suffix of ['', '-wal', '-shm']) rmSync(`${path}${suffix}`, { force: true });
    },
  });
  const next = (): string => join(folder, `${++count}.db`);
  return {
    name: 'sqlite',
    create: async () => at(next()),
    copy: async (original) => {
      const path = next();
      copyFileSync(original.url.slice('sqlite:'.length), path);
      return at(path);
    },
    stop: async () => rmSync(folder, { recursive: true, force: true }),
  };
}

async function openMysql(): Promise<BenchEngine> {
  const given = process.env.LANEHEAD_TEST_MYSQL_URL;
  const server = given ? null : await startMariadb();
  const serverUrl = given ? new URL('/', given).href : server!.url;
  return {
    name: 'mysql',
    create: async () => {
      const { url, drop } = await createDatabase(serverUrl);
      const rows = async (sql: string): Promise<readonly Record<string, unknown>[]> => {
        const connection = await createConnection(url);
        try {
          return (await connection.query(sql))[0] as Record<string, unknown>[];
        } finally {
          await connection.end();
        }
      };
      return { url, rows, drop };
    },
    copy: () => null,
    stop: async () => server?.stop(),
  };
}
