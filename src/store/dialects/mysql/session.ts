import { LaneheadError } from '../../../core/errors.js';
import { type ConnectionSettings, MysqlConnection } from './connection.js';

export type Isolation = 'read-committed' | 'repeatable-read';

export interface SessionSettings {
  readonly isolation: Isolation;
  /** How long a statement waits for a row or table lock before it gives up with 1205. Whole seconds at least. */
  readonly lockWaitMs: number;
  /**
   * After this the server ends an idle session, its transaction with it: the bound on how long a machine that
   * vanished keeps its locks.
   */
  readonly sessionTimeoutMs: number;
  /** MariaDB's `innodb_snapshot_isolation`; `null`: as the server has it. */
  readonly snapshotIsolation: boolean | null;
}

/**
 * Strict everywhere, and ONLY_FULL_GROUP_BY because MySQL 8 and TiDB have it by default. Without ANSI_QUOTES,
 * NO_BACKSLASH_ESCAPES, PIPES_AS_CONCAT and the like, whatever the server's default is.
 */
const SQL_MODE = [
  'STRICT_ALL_TABLES',
  'ERROR_FOR_DIVISION_BY_ZERO',
  'NO_ENGINE_SUBSTITUTION',
  'ONLY_FULL_GROUP_BY',
];

const wholeSeconds = (ms: number): number => Math.max(1, Math.ceil(ms / 1000));

function assignments(settings: SessionSettings): string {
  const lockWait = wholeSeconds(settings.lockWaitMs);
  return [
    `sql_mode = '${SQL_MODE.join(',')}'`,
    `time_zone = '+00:00'`,
    'autocommit = 1',
    `completion_type = 'NO_CHAIN'`,
    `innodb_lock_wait_timeout = ${lockWait}`,
    `lock_wait_timeout = ${lockWait}`,
    `wait_timeout = ${wholeSeconds(settings.sessionTimeoutMs)}`,
    ...(settings.snapshotIsolation === null
      ? []
      : [`innodb_snapshot_isolation = ${settings.snapshotIsolation ? 1 : 0}`]),
  ].join(', ');
}

/** What the server must say of the session afterwards; upper case, lists sorted. Absent variables are not asked for. */
function expectations(settings: SessionSettings): ReadonlyMap<string, string> {
  const isolation = settings.isolation.toUpperCase();
  return new Map([
    ['character_set_client', 'UTF8MB4'],
    ['character_set_connection', 'UTF8MB4'],
    ['character_set_results', 'UTF8MB4'],
    ['sql_mode', [...SQL_MODE].sort().join(',')],
    ['time_zone', '+00:00'],
    ['autocommit', 'ON'],
    ['innodb_lock_wait_timeout', String(wholeSeconds(settings.lockWaitMs))],
    // MySQL 8 knows the second name only, MariaDB 10.11 the first only.
    ['tx_isolation', isolation],
    ['transaction_isolation', isolation],
    ...(settings.snapshotIsolation === null
      ? []
      : [['innodb_snapshot_isolation', settings.snapshotIsolation ? 'ON' : 'OFF'] as const]),
  ]);
}

const normalized = (value: string): string => value.toUpperCase().split(',').sort().join(',');

/** Variables of this session by lower-case name; unknown names are absent. Works without knowing the engine. */
export async function readVariables(
  connection: MysqlConnection,
  names: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const list = names.map((name) => `'${name}'`).join(', ');
  const { rows } = await connection.command(`SHOW SESSION VARIABLES WHERE Variable_name IN (${list})`);
  return new Map(rows.map((row) => [String(row.Variable_name).toLowerCase(), String(row.Value)]));
}

/**
 * Opens a connection and sets its session up; then asks the server what it made of it, for a proxy in between may
 * swallow or share session settings.
 * @throws LaneheadError `invalid_configuration` when a setting did not take.
 */
export async function openSession(
  connectionSettings: ConnectionSettings,
  settings: SessionSettings,
): Promise<MysqlConnection> {
  const connection = await MysqlConnection.open(connectionSettings);
  try {
    await setUp(connection, settings, connectionSettings.connectTimeoutMs);
  } catch (error) {
    connection.destroy();
    throw error;
  }
  return connection;
}

async function setUp(
  connection: MysqlConnection,
  settings: SessionSettings,
  timeoutMs: number,
): Promise<void> {
  const isolation = settings.isolation.replace('-', ' ').toUpperCase();
  await connection.command('SET NAMES utf8mb4 COLLATE utf8mb4_bin', timeoutMs);
  await connection.command(`SET SESSION TRANSACTION ISOLATION LEVEL ${isolation}`, timeoutMs);
  await connection.command(`SET ${assignments(settings)}`, timeoutMs);
  const expected = expectations(settings);
  const actual = await readVariables(connection, ['version', ...expected.keys()]);
  const wrong = [...expected].filter(([name, value]) => {
    const found = actual.get(name);
    return found !== undefined && normalized(found) !== value;
  });
  if (wrong.length > 0) {
    const list = wrong
      .map(([name, value]) => `${name} is ${actual.get(name)} instead of ${value}`)
      .join(', ');
    throw new LaneheadError('invalid_configuration', `the server (or a proxy) changed the session: ${list}`);
  }
  if (/tidb/i.test(actual.get('version') ?? '')) connection.numberBinding = 'bigint';
}
