import { LaneheadError } from '../../../core/errors.js';
import type { MysqlConnection } from './connection.js';
import { readVariables } from './session.js';

export type MysqlEngine = 'mysql' | 'mariadb' | 'tidb';

export interface ServerReport {
  readonly engine: MysqlEngine;
  /** As the server says it, whole. */
  readonly version: string;
  /** For the log at start: what will work, but not as well as it should. */
  readonly warnings: readonly string[];
  /** `max_allowed_packet`: no statement with its parameters may be longer. */
  readonly maxPacketBytes: number;
}

/** Name in lower case → value; a variable that the server does not have is absent. */
type Variables = ReadonlyMap<string, string>;
type Version = readonly [major: number, minor: number, patch: number];

const LEAST: Readonly<Record<MysqlEngine, Version>> = {
  mysql: [8, 0, 0],
  mariadb: [10, 11, 0],
  tidb: [8, 5, 6],
};

const NAMES = [
  ...['version', 'max_allowed_packet', 'read_only', 'super_read_only', 'tidb_super_read_only'],
  ...['tidb_restricted_read_only', 'tidb_txn_mode', 'tidb_constraint_check_in_place_pessimistic'],
  ...['innodb_flush_log_at_trx_commit', 'innodb_doublewrite', 'log_bin', 'sync_binlog'],
  ...['wsrep_on', 'group_replication_single_primary_mode'],
];

/** TiDB calls itself `8.0.11-TiDB-v8.5.6`: its own version stands last. */
export function parseVersion(text: string): { engine: MysqlEngine; version: Version } | null {
  const tidb = /tidb-v?(\d+)\.(\d+)\.(\d+)/i.exec(text);
  const found = tidb ?? /^(\d+)\.(\d+)\.(\d+)/.exec(text);
  if (!found) return null;
  const engine = tidb ? 'tidb' : /mariadb/i.test(text) ? 'mariadb' : 'mysql';
  return { engine, version: [Number(found[1]), Number(found[2]), Number(found[3])] };
}

function isAtLeast(version: Version, least: Version): boolean {
  const difference = version.map((part, place) => part - least[place]!).find((part) => part !== 0);
  return (difference ?? 0) >= 0;
}

/**
 * Looks at the server before anything is stored on it.
 * @throws LaneheadError `unsupported_engine`: too old, a replica, several primaries, or TiDB's optimistic mode;
 * `durability_refused`: an acknowledged commit could be lost by a power cut.
 */
export async function inspectServer(
  connection: MysqlConnection,
  unsafeDurability: boolean,
): Promise<ServerReport> {
  return judgeServer(await readVariables(connection, NAMES), unsafeDurability);
}

/** The judgement apart from the connection, for engines that no test can start. */
export function judgeServer(variables: Variables, unsafeDurability: boolean): ServerReport {
  const version = variables.get('version') ?? '';
  const known = parseVersion(version);
  if (!known || !isAtLeast(known.version, LEAST[known.engine]))
    refuseEngine(`the server is ${version || 'unknown'}`);
  refuseReplica(variables);
  refuseSeveralPrimaries(variables);
  if (known.engine === 'tidb') refuseOptimistic(variables);
  return {
    engine: known.engine,
    version,
    warnings: known.engine === 'tidb' ? [] : judgeDurability(variables, unsafeDurability),
    maxPacketBytes: Number(variables.get('max_allowed_packet')),
  };
}

function refuseEngine(detail: string): never {
  throw new LaneheadError('unsupported_engine', detail);
}

function refuseReplica(variables: Variables): void {
  const names = ['read_only', 'super_read_only', 'tidb_super_read_only', 'tidb_restricted_read_only'];
  const set = names.find((name) => isOn(variables.get(name)));
  if (set) refuseEngine(`the server is a replica (${set} is on); give the address of the primary`);
}

/** Two primaries both commit updates of one row, and one of them is lost. */
function refuseSeveralPrimaries(variables: Variables): void {
  if (isOn(variables.get('wsrep_on'))) refuseEngine('Galera (wsrep_on) certifies writes after the fact');
  if (isOff(variables.get('group_replication_single_primary_mode'))) {
    refuseEngine('group replication has several primaries; set group_replication_single_primary_mode=ON');
  }
}

function refuseOptimistic(variables: Variables): void {
  if (variables.get('tidb_txn_mode')?.toLowerCase() !== 'pessimistic')
    refuseEngine('TiDB needs tidb_txn_mode=pessimistic');
  if (!isOn(variables.get('tidb_constraint_check_in_place_pessimistic'))) {
    refuseEngine('TiDB needs tidb_constraint_check_in_place_pessimistic=ON');
  }
}

function judgeDurability(variables: Variables, unsafeDurability: boolean): string[] {
  const warnings: string[] = [];
  const flush = variables.get('innodb_flush_log_at_trx_commit');
  if (flush !== '1') {
    const detail = `innodb_flush_log_at_trx_commit is ${flush}, so a power cut loses commits; set it to 1`;
    if (!unsafeDurability) throw new LaneheadError('durability_refused', detail);
    warnings.push(detail);
  }
  if (isOff(variables.get('innodb_doublewrite'))) {
    warnings.push('innodb_doublewrite is OFF: safe only where the file system writes whole pages');
  }
  if (isOn(variables.get('log_bin')) && variables.get('sync_binlog') !== '1') {
    warnings.push('sync_binlog is not 1: after a power cut replicas may lack commits that the primary has');
  }
  return warnings;
}

const isOn = (value: string | undefined): boolean => /^(on|1)$/i.test(value ?? '');
const isOff = (value: string | undefined): boolean => /^(off|0)$/i.test(value ?? '');
