import Database from 'better-sqlite3';
import { LaneheadError } from '../../../core/errors.js';
import { Contention } from '../../driver.js';
import { classify } from './errors.js';

/** Held for as long as a process serves a file; the operating system lets go of it however the process ends. */
export interface ServeLock {
  release(): void;
}

/**
 * One serving process for each SQLite file. The lock is an exclusive transaction on a small database beside it:
 * Node has no flock, and SQLite's own file locks end with the process, SIGKILL included. Readers are not concerned.
 * @throws LaneheadError `database_in_use`; AccessRefused when the file of the lock cannot be written
 */
export function acquireServeLock(path: string): ServeLock {
  const lock = lockedFile(path);
  return {
    release() {
      if (lock.open) lock.close();
    },
  };
}

function lockedFile(path: string): Database.Database {
  const file = `${path}-serve`;
  let lock: Database.Database | null = null;
  try {
    lock = new Database(file);
    lock.pragma('busy_timeout = 0');
    lock.pragma('journal_mode = MEMORY');
    lock.exec('BEGIN EXCLUSIVE');
    return lock;
  } catch (error) {
    lock?.close();
    const failure = classify(error, false, file);
    if (!(failure instanceof Contention)) throw failure;
    throw new LaneheadError('database_in_use', `${path} is served by another process`, { cause: error });
  }
}
