import Database from 'better-sqlite3';
import { AccessRefused, Contention, DuplicateKey, StoreOutage } from '../../driver.js';

/** SQLite result codes (https://sqlite.org/rescode.html) that mean the file, not the statement, is in trouble. */
const OUTAGE = [
  'SQLITE_FULL',
  'SQLITE_IOERR',
  'SQLITE_CORRUPT',
  'SQLITE_NOTADB',
  'SQLITE_NOMEM',
  'SQLITE_PROTOCOL',
];
/** The file is there, and not for this process; or its folder is not, where SQLite keeps the log beside it. */
const REFUSED = ['SQLITE_CANTOPEN', 'SQLITE_READONLY'];
const CONTENTION = ['SQLITE_BUSY', 'SQLITE_LOCKED'];
const DUPLICATE = ['SQLITE_CONSTRAINT_UNIQUE', 'SQLITE_CONSTRAINT_PRIMARYKEY'];

const REMEDY = 'name a file, not a folder, that this user may read and write, in a folder it may write';

const startsWith = (prefixes: readonly string[], code: string): boolean =>
  prefixes.some((prefix) => code === prefix || code.startsWith(`${prefix}_`));

/**
 * @param committing the statement was COMMIT: whether it is durable is then unknown, because a failed fsync may have
 * written the WAL frame all the same.
 * @param file what was opened, for people
 */
export function classify(error: unknown, committing: boolean, file = 'the database file'): unknown {
  if (!(error instanceof Database.SqliteError)) return error;
  if (DUPLICATE.includes(error.code)) return new DuplicateKey({ cause: error });
  if (startsWith(CONTENTION, error.code)) return new Contention(error.message, { cause: error });
  const outcome = committing ? 'unknown' : 'none';
  const message = `${error.code}: ${error.message}`;
  if (startsWith(REFUSED, error.code)) {
    return new AccessRefused(`${file} cannot be used (${message}); ${REMEDY}`, outcome, { cause: error });
  }
  if (startsWith(OUTAGE, error.code)) return new StoreOutage(message, outcome, { cause: error });
  return error;
}
