/**
 * What an error of the engine means. One table for MySQL 8, MariaDB and TiDB; numbers that only one of them uses
 * never meet a different meaning in another.
 */
import { LaneheadError } from '../../../core/errors.js';
import { AccessRefused, Contention, DuplicateKey, StoreOutage } from '../../driver.js';

/**
 * What was being done. It decides what an outage may have left behind: until COMMIT is sent, nothing.
 * `autocommit` is a statement outside a transaction that stores something.
 */
export type Phase = 'connect' | 'begin' | 'statement' | 'autocommit' | 'commit';

interface Meaning {
  readonly verdict: 'duplicate' | 'contention' | 'outage' | 'refused' | 'oversized';
  /** Of `refused`: what to do about it. */
  readonly remedy?: string;
  /** The connection is of no further use, although the server answered on it. */
  readonly lost?: true;
  /** The number means this only when the message says so; else nothing is known about it. */
  readonly when?: RegExp;
}

const duplicate: Meaning = { verdict: 'duplicate' };
const contention: Meaning = { verdict: 'contention' };
const outage: Meaning = { verdict: 'outage' };
const outageAndLost: Meaning = { verdict: 'outage', lost: true };
const refused = (remedy: string): Meaning => ({ verdict: 'refused', remedy });
const login = refused('check the user and the password');
const account = refused('the account must be let in from this host, unlocked, and its password current');
const database = refused('create the database, and grant the user its rights on it (docs/databases.md)');
const right = refused('grant the user the right that is missing (docs/databases.md)');
const oversized: Meaning = { verdict: 'oversized' };

const MEANINGS: ReadonlyMap<number, Meaning> = new Map<number, Meaning>([
  [1062, duplicate], // ER_DUP_ENTRY
  [1586, duplicate], // ER_DUP_ENTRY_WITH_KEY_NAME

  [1020, contention], // ER_CHECKREAD: MariaDB, innodb_snapshot_isolation; the transaction is gone
  [1205, contention], // ER_LOCK_WAIT_TIMEOUT: the statement is undone, the transaction is still open
  [1213, contention], // ER_LOCK_DEADLOCK: the transaction is gone
  [1412, contention], // ER_TABLE_DEF_CHANGED: the snapshot is older than a DDL
  [1615, contention], // ER_NEED_REPREPARE: a DDL ran between prepare and execute
  [3101, contention], // ER_TRANSACTION_ROLLBACK_DURING_COMMIT: group replication certified another one
  [3572, contention], // ER_LOCK_NOWAIT
  [8002, contention], // TiDB: FOR UPDATE met a write conflict
  [8005, contention], // TiDB: write conflict
  [8022, contention], // TiDB: commit failed and was rolled back
  [8028, contention], // TiDB: schema changed under the transaction
  [9004, contention], // TiDB: resolving locks took too long
  [9007, contention], // TiDB: write conflict
  [1105, { verdict: 'contention', when: /pessimistic lock not found/i }], // TiDB: its lock was resolved away

  [1021, outage], // ER_DISK_FULL
  [1026, outage], // ER_ERROR_ON_WRITE
  [1030, outage], // ER_GET_ERRNO: the engine failed, with the system's number
  [1037, outage], // ER_OUTOFMEMORY
  [1040, outage], // ER_CON_COUNT_ERROR
  [1041, outage], // ER_OUT_OF_RESOURCES
  [1114, outage], // ER_RECORD_FILE_FULL
  [1129, outage], // ER_HOST_IS_BLOCKED
  [1135, outage], // ER_CANT_CREATE_THREAD
  [1180, outage], // ER_ERROR_DURING_COMMIT
  [1203, outage], // ER_TOO_MANY_USER_CONNECTIONS
  [1206, outage], // ER_LOCK_TABLE_FULL
  [1226, outage], // ER_USER_LIMIT_REACHED
  [1317, outage], // ER_QUERY_INTERRUPTED: an administrator, or the server stopping
  [1461, outage], // ER_MAX_PREPARED_STMT_COUNT_REACHED
  [1969, outage], // ER_STATEMENT_TIMEOUT (MariaDB)
  [3024, outage], // ER_QUERY_TIMEOUT (MySQL)
  [8027, outage], // TiDB: this server lost touch with the schema
  [8120, outage], // TiDB: no start timestamp from PD
  [8252, outage], // TiDB: resource group used up
  [9001, outage], // TiDB: PD timeout
  [9002, outage], // TiDB: TiKV timeout
  [9003, outage], // TiDB: TiKV busy
  [9005, outage], // TiDB: region unavailable
  [9008, outage], // TiDB: TiKV store limit

  [1043, outageAndLost], // ER_HANDSHAKE_ERROR
  [1047, outageAndLost], // ER_UNKNOWN_COM_ERROR: a Galera node that is not in a quorum
  [1053, outageAndLost], // ER_SERVER_SHUTDOWN
  [1152, outageAndLost], // ER_ABORTING_CONNECTION
  [1158, outageAndLost], // ER_NET_READ_ERROR
  [1159, outageAndLost], // ER_NET_READ_INTERRUPTED
  [1160, outageAndLost], // ER_NET_ERROR_ON_WRITE
  [1161, outageAndLost], // ER_NET_WRITE_INTERRUPTED
  [1243, outageAndLost], // ER_UNKNOWN_STMT_HANDLER: a proxy moved the session to another server
  [1290, outageAndLost], // ER_OPTION_PREVENTS_STATEMENT: --read-only; after a failover this is no primary any more
  [1792, outageAndLost], // ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION
  [1836, outageAndLost], // ER_READ_ONLY_MODE
  [1927, outageAndLost], // ER_CONNECTION_KILLED (MariaDB)
  [3169, outageAndLost], // ER_SESSION_WAS_KILLED (MySQL)
  [4031, outageAndLost], // ER_CLIENT_INTERACTION_TIMEOUT (MySQL)

  [1045, login], // ER_ACCESS_DENIED_ERROR
  [1698, login], // ER_ACCESS_DENIED_NO_PASSWORD_ERROR: the account logs in by the socket, or by a plugin
  [1130, account], // ER_HOST_NOT_PRIVILEGED
  [1820, account], // ER_MUST_CHANGE_PASSWORD
  [1862, account], // ER_MUST_CHANGE_PASSWORD_LOGIN
  [3118, account], // ER_ACCOUNT_HAS_BEEN_LOCKED (MySQL)
  [4151, account], // ER_ACCOUNT_HAS_BEEN_LOCKED (MariaDB)
  [1044, database], // ER_DBACCESS_DENIED_ERROR
  [1049, database], // ER_BAD_DB_ERROR
  [1142, right], // ER_TABLEACCESS_DENIED_ERROR
  [1143, right], // ER_COLUMNACCESS_DENIED_ERROR
  [1227, right], // ER_SPECIFIC_ACCESS_DENIED_ERROR
  [1370, right], // ER_PROCACCESS_DENIED_ERROR

  [8004, oversized], // TiDB: transaction too large
  [8025, oversized], // TiDB: entry too large
]);

/** `code` of errors that come from the network, from TLS or from the client's own protocol, not from the engine. */
const CONNECTION_CODES: ReadonlySet<string> = new Set([
  ...[
    'ECONNREFUSED',
    'ECONNRESET',
    'ECONNABORTED',
    'EPIPE',
    'ETIMEDOUT',
    'ENOENT',
    'EACCES',
    'EMFILE',
    'ENFILE',
  ],
  ...['EHOSTUNREACH', 'EHOSTDOWN', 'ENETUNREACH', 'ENETDOWN', 'EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN'],
  ...['ERR_STREAM_DESTROYED', 'ERR_STREAM_WRITE_AFTER_END', 'ERR_SOCKET_CLOSED', 'HANDSHAKE_SSL_ERROR'],
  ...['PROTOCOL_CONNECTION_LOST', 'PROTOCOL_ERROR', 'PROTOCOL_UNEXPECTED_PACKET'],
]);

interface ClientError extends Error {
  readonly code?: string;
  readonly errno?: number;
  readonly fatal?: boolean;
}

function meaningOf(error: ClientError): Meaning | undefined {
  const meaning = MEANINGS.get(error.errno ?? 0);
  if (meaning) return !meaning.when || meaning.when.test(error.message) ? meaning : undefined;
  if (CONNECTION_CODES.has(error.code ?? '')) return outageAndLost;
  const fromServer = (error.errno ?? 0) > 0;
  return error.fatal === true && !fromServer ? outageAndLost : undefined;
}

/** True: the connection this error came on, classified or not, must be destroyed and not used again. */
export function connectionIsLost(error: unknown): boolean {
  const original = error instanceof StoreOutage ? error.cause : error;
  return original instanceof Error && meaningOf(original)?.lost === true;
}

/**
 * Turns an error of mysql2 into what a driver may throw. An error that means a bug or a wrong
 * statement comes back as it is; at COMMIT nothing is taken for that, for it could not promise that nothing
 * was stored.
 */
export function classify(error: unknown, phase: Phase): Error {
  if (!(error instanceof Error)) return new Error(String(error));
  const { message } = error;
  const committing = phase === 'commit';
  const meaning = meaningOf(error);
  const outcome = committing || phase === 'autocommit' ? 'unknown' : 'none';
  switch (meaning?.verdict) {
    case 'duplicate':
      // Only where unique keys are checked late. Nothing was stored; the next run sees the other row.
      return committing ? new Contention(message, { cause: error }) : new DuplicateKey({ cause: error });
    case 'contention':
      return new Contention(message, { cause: error });
    case 'outage':
      return new StoreOutage(message, outcome, { cause: error });
    case 'refused': // before it ran
      return new AccessRefused(`${message}; ${meaning!.remedy}`, committing ? 'unknown' : 'none', {
        cause: error,
      });
    case 'oversized': // whatever the phase, nothing was stored
      return new LaneheadError('payload_too_large', message, { cause: error });
    default:
      return committing ? new StoreOutage(message, 'unknown', { cause: error }) : error;
  }
}
