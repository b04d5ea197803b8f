import { describe, expect, test } from 'vitest';
import { isLaneheadError } from '../../../src/core/errors.js';
import { judgeServer, parseVersion } from '../../../src/store/dialects/mysql/inspect.js';

const MARIADB = {
  version: '10.11.18-MariaDB-0+deb12u1',
  innodb_flush_log_at_trx_commit: '1',
  wsrep_on: 'OFF',
};
const MYSQL = { version: '8.0.36', innodb_flush_log_at_trx_commit: '1', log_bin: 'ON', sync_binlog: '1' };
const TIDB = {
  version: '8.0.11-TiDB-v8.5.6',
  tidb_txn_mode: 'pessimistic',
  tidb_constraint_check_in_place_pessimistic: 'ON',
};

const judge = (variables: Record<string, string>, unsafe = false) =>
  judgeServer(
    new Map(Object.entries({ max_allowed_packet: '67108864', read_only: 'OFF', ...variables })),
    unsafe,
  );

function refusalOf(variables: Record<string, string>): string {
  try {
    judge(variables);
  } catch (error) {
    if (isLaneheadError(error)) return `${error.code}: ${error.message}`;
    throw error;
  }
  return 'accepted';
}

test.each([
  ['8.0.36', 'mysql', [8, 0, 36]],
  ['8.4.2-commercial', 'mysql', [8, 4, 2]],
  ['8.0.36-28.1', 'mysql', [8, 0, 36]],
  ['10.11.18-MariaDB-0+deb12u1', 'mariadb', [10, 11, 18]],
  ['11.4.3-MariaDB-ubu2404-log', 'mariadb', [11, 4, 3]],
  ['8.0.11-TiDB-v8.5.6', 'tidb', [8, 5, 6]],
  ['8.0.11-TiDB-v9.0.0-beta.1', 'tidb', [9, 0, 0]],
])('%s is %s %j', (text, engine, version) => {
  expect(parseVersion(text)).toEqual({ engine, version });
});

describe('the version gate', () => {
  test.each(['8.0.0', '9.1.0'])('MySQL %s is accepted', (version) => {
    expect(judge({ ...MYSQL, version }).engine).toBe('mysql');
  });
  test.each(['10.11.0-MariaDB', '11.0.2-MariaDB', '12.1.2-MariaDB'])('%s is accepted', (version) => {
    expect(judge({ ...MARIADB, version }).engine).toBe('mariadb');
  });
  test.each(['8.0.11-TiDB-v8.5.6', '8.0.11-TiDB-v8.6.0'])('%s is accepted', (version) => {
    expect(judge({ ...TIDB, version }).engine).toBe('tidb');
  });
  test.each([
    '5.7.44',
    '10.10.7-MariaDB',
    '10.6.99-MariaDB',
    '8.0.11-TiDB-v8.5.5',
    '8.0.11-TiDB-v7.9.9',
    'x',
    '',
  ])('%j is refused', (version) => {
    expect(refusalOf({ ...MARIADB, ...TIDB, version })).toContain('unsupported_engine: the server is');
  });
});

describe('[ADM-1] FIELD §1: what would lose commits is refused', () => {
  test.each([
    [
      { ...MARIADB, innodb_flush_log_at_trx_commit: '2' },
      'durability_refused: innodb_flush_log_at_trx_commit is 2',
    ],
    [
      { ...MYSQL, innodb_flush_log_at_trx_commit: '0' },
      'durability_refused: innodb_flush_log_at_trx_commit is 0',
    ],
    [{ version: MYSQL.version }, 'durability_refused: innodb_flush_log_at_trx_commit is undefined'],
    [{ ...MARIADB, wsrep_on: 'ON' }, 'unsupported_engine: Galera'],
    [{ ...MYSQL, group_replication_single_primary_mode: 'OFF' }, 'unsupported_engine: group replication'],
    [{ ...MYSQL, read_only: 'ON' }, 'unsupported_engine: the server is a replica (read_only is on)'],
    [
      { ...MYSQL, super_read_only: 'ON' },
      'unsupported_engine: the server is a replica (super_read_only is on)',
    ],
    [{ ...TIDB, tidb_super_read_only: 'ON' }, 'unsupported_engine: the server is a replica'],
    [{ ...TIDB, tidb_restricted_read_only: 'ON' }, 'unsupported_engine: the server is a replica'],
    [{ ...TIDB, tidb_txn_mode: 'optimistic' }, 'unsupported_engine: TiDB needs tidb_txn_mode=pessimistic'],
    [{ ...TIDB, tidb_txn_mode: '' }, 'unsupported_engine: TiDB needs tidb_txn_mode=pessimistic'],
    [
      { ...TIDB, tidb_constraint_check_in_place_pessimistic: 'OFF' },
      'unsupported_engine: TiDB needs tidb_constraint_check_in_place_pessimistic=ON',
    ],
  ])('%j', (variables, refusal) => {
    expect(refusalOf(variables)).toContain(refusal);
  });

  test('a waived durability is still warned of', () => {
    const { warnings } = judge({ ...MARIADB, innodb_flush_log_at_trx_commit: '2' }, true);
    expect(warnings).toEqual([expect.stringContaining('a power cut loses commits')]);
  });

  test('an unsynced binary log and a missing doublewrite are warned of, not refused', () => {
    expect(judge({ ...MYSQL, sync_binlog: '0' }).warnings).toEqual([expect.stringContaining('sync_binlog')]);
    expect(judge({ ...MYSQL, log_bin: 'OFF', sync_binlog: '0' }).warnings).toEqual([]);
    expect(judge({ ...MYSQL, innodb_doublewrite: 'OFF' }).warnings).toEqual([
      expect.stringContaining('doublewrite'),
    ]);
    expect(judge({ ...MYSQL, innodb_doublewrite: 'DETECT_AND_RECOVER' }).warnings).toEqual([]);
  });

  test('TiDB has no such settings; single primaries and secure servers pass without a word', () => {
    expect(judge(TIDB)).toEqual({
      engine: 'tidb',
      version: TIDB.version,
      warnings: [],
      maxPacketBytes: 67_108_864,
    });
    expect(judge({ ...MYSQL, group_replication_single_primary_mode: 'ON' }).warnings).toEqual([]);
    expect(judge(MARIADB).warnings).toEqual([]);
  });
});
