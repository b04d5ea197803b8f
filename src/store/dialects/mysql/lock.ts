import { digestParts } from '../../../core/identity.js';
import { Contention, StoreOutage } from '../../driver.js';
import type { ConnectionSettings, MysqlConnection } from './connection.js';
import { classify } from './errors.js';
import { openSession, type SessionSettings } from './session.js';

/** GET_LOCK belongs to its session: whoever dies lets go of it. */
export interface NamedLock {
  readonly connection: MysqlConnection;
  /** @throws StoreOutage `unknown` when the lock was lost before: somebody else may have worked at the same time. */
  release(): Promise<void>;
}

/** How long the lock is waited for. */
export interface LockWait {
  readonly waitMs: number;
  /** Ends the wait at once. */
  readonly closed: AbortSignal;
}

const POLL_SECONDS = 2;
const DIGEST_CHARACTERS = 40;

/** Locks are named per server and at most 64 characters long, so database and name go in as a digest. */
export function lockName(database: string, name: string): string {
  const digest = digestParts(['lock', database.toLowerCase(), name]).toString('hex');
  return `lanehead:${digest.slice(0, DIGEST_CHARACTERS)}`;
}

/**
 * Opens a session of its own and takes the lock `name` of this database.
 * @throws Contention when another holds it longer than `waitMs`; StoreOutage `none` when `closed` aborts before.
 */
export async function takeLock(
  settings: ConnectionSettings,
  session: SessionSettings,
  name: string,
  { waitMs, closed }: LockWait,
): Promise<NamedLock> {
  const lock = lockName(settings.address.database, name);
  const connection = await openSession(settings, session).catch((error) => {
    throw classify(error, 'connect');
  });
  const giveUp = () => connection.destroy();
  closed.addEventListener('abort', giveUp);
  try {
    if (closed.aborted) giveUp();
    const giveUpAt = settings.clock.monotonic() + waitMs;
    while (!(await ask(connection, `SELECT GET_LOCK(?, ${POLL_SECONDS}) AS Answer`, lock))) {
      if (settings.clock.monotonic() >= giveUpAt) {
        throw new Contention(`another process has been at ${name} for more than ${waitMs} ms`);
      }
    }
  } catch (error) {
    connection.destroy();
    if (closed.aborted) throw new StoreOutage('the store is closed', 'none');
    throw classify(error, 'statement');
  } finally {
    closed.removeEventListener('abort', giveUp);
  }
  const release = async () => {
    const held = await ask(connection, 'SELECT RELEASE_LOCK(?) AS Answer', lock).catch(() => false);
    if (!held) throw new StoreOutage(`the lock ${name} was lost while it was needed`, 'unknown');
  };
  return { connection, release };
}

async function ask(connection: MysqlConnection, sql: string, lock: string): Promise<boolean> {
  const { rows } = await connection.execute(sql, [lock]);
  return rows[0]?.Answer === 1;
}
