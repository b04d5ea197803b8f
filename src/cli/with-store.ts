import { existsSync } from 'node:fs';
import { LaneheadError } from '../core/errors.js';
import { DEFAULT_DATABASE_URL, parseDatabaseUrl } from '../runtime/database-url.js';
import { openStore } from '../runtime/open-store.js';
import type { Store } from '../store/store.js';
import { readDatabaseUrl } from './configuration.js';
import type { Terminal } from './terminal.js';

export interface DatabaseFlags {
  readonly db?: string;
  readonly unsafeDurability?: boolean;
}

export const databaseUrlOf = (terminal: Terminal, flags: DatabaseFlags): string =>
  readDatabaseUrl(flags.db, terminal.environment, DEFAULT_DATABASE_URL);

/** Runs `use` on the database that flags and environment name, beside whoever serves it, and closes it again. */
export async function withStore<T>(
  databaseUrl: string,
  unsafeDurability: boolean,
  use: (store: Store) => Promise<T>,
): Promise<T> {
  const store = await openStore({ databaseUrl, unsafeDurability, poolSize: 2 });
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

/** For a command that reads: it promises no durability, so that any server's settings will do. */
export function reading<T>(
  terminal: Terminal,
  flags: DatabaseFlags,
  use: (store: Store) => Promise<T>,
): Promise<T> {
  return withSchema(databaseUrlOf(terminal, flags), true, use);
}

/** For a command that changes rows. */
export function writing<T>(
  terminal: Terminal,
  flags: DatabaseFlags,
  use: (store: Store) => Promise<T>,
): Promise<T> {
  return withSchema(databaseUrlOf(terminal, flags), flags.unsafeDurability ?? false, use);
}

/** Whether there is something to open; opening a SQLite file that is not there would create it. */
export function databaseExists(databaseUrl: string): boolean {
  const address = parseDatabaseUrl(databaseUrl);
  return address.engine === 'mysql' || existsSync(address.path);
}

async function withSchema<T>(
  databaseUrl: string,
  unsafeDurability: boolean,
  use: (store: Store) => Promise<T>,
): Promise<T> {
  // A misspelt path must not look like an empty database.
  if (!databaseExists(databaseUrl)) {
    throw new LaneheadError('schema_missing', `there is no database at ${databaseUrl}`, {
      action:
        'Name the right one with --db or DATABASE_URL; lanehead migrate up would create an empty one there.',
    });
  }
  return await withStore(databaseUrl, unsafeDurability, async (store) => {
    const { pending, unknown } = await store.schemaStatus();
    if (pending.length > 0) throw new LaneheadError('schema_missing', `not applied: ${pending.join(', ')}`);
    const changing = unknown.filter((migration) => !migration.additive).map((migration) => migration.id);
    if (changing.length > 0)
      throw new LaneheadError('schema_newer', `the database has ${changing.join(', ')}`);
    return await use(store);
  });
}
