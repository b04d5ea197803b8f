import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Plan, type Row, read, write } from '../../../src/store/plan.js';
import {
  createDatabase,
  type MariadbServer,
  startMariadb,
  type TestDatabase,
} from '../../support/mariadb.js';
import { ask, failureOf, openDriver, statement } from './support.js';
import { startProxy } from './tcp-proxy.js';

const certificate = (name: string): string =>
  fileURLToPath(new URL(`certificates/${name}.pem`, import.meta.url));

/** A server whose every default is another than what the product relies on. */
const ODD_DEFAULTS = [
  '--sql-mode=ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT,HIGH_NOT_PRECEDENCE',
  '--default-time-zone=+05:30',
  '--character-set-server=latin1',
  '--skip-character-set-client-handshake',
  '--transaction-isolation=SERIALIZABLE',
  '--autocommit=0',
  '--completion-type=CHAIN',
  '--log-bin',
  '--sync-binlog=0',
  `--ssl-cert=${certificate('server')}`,
  `--ssl-key=${certificate('server-key')}`,
  `--ssl-ca=${certificate('authority')}`,
];

let server: MariadbServer;
let database: TestDatabase;
beforeAll(async () => {
  server = await startMariadb({ arguments: ODD_DEFAULTS });
  database = await createDatabase(server.url);
});
afterAll(() => server.stop());

const select = (text: string) => () => read<Row>(statement('read', 'select', text));

describe('FIELD §1: the session is the same on every server', () => {
  test('whatever the server’s default sql_mode is, quotes, escapes and bars mean what they mean elsewhere', async () => {
    const driver = await openDriver(database.url);
    const rows = await driver.query(select(`SELECT "text" AS Text, 'it\\'s' AS Quoted, 1 || 0 AS Bars`));
    expect(rows).toEqual([{ Text: 'text', Quoted: "it's", Bars: 1 }]);
  });

  test('FIELD §2 (pterodactyl #2596): time zone, character set, isolation and autocommit too', async () => {
    const driver = await openDriver(database.url);
    const text = `SELECT @@time_zone AS Zone, @@character_set_client AS Charset, @@collation_connection AS Collation_,
      @@tx_isolation AS Isolation, @@autocommit AS Autocommit, @@innodb_lock_wait_timeout AS LockWait,
      @@lock_wait_timeout AS TableLockWait, @@wait_timeout AS Idle`;
    expect(await driver.query(select(text))).toEqual([
      {
        Zone: '+00:00',
        Charset: 'utf8mb4',
        Collation_: 'utf8mb4_bin',
        Isolation: 'READ-COMMITTED',
        Autocommit: 1,
        LockWait: 5,
        TableLockWait: 5,
        Idle: 30,
      },
    ]);
  });

  test('strict mode refuses what would be cut off, and emoji survive a latin1 server', async () => {
    const driver = await openDriver(database.url, { isolation: 'repeatable-read' });
    await driver.script(['CREATE TABLE words (word VARCHAR(4)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4']);
    const insert = statement('write', 'insert', 'INSERT INTO words (word) VALUES (?)');
    await driver.query(() => write(insert, ['🚚']));
    expect(await failureOf(driver.query(() => write(insert, ['too long'])))).toMatchObject({ errno: 1406 });
    const other = await openDriver(database.url);
    expect(await other.query(select('SELECT word FROM words'))).toEqual([{ word: '🚚' }]);
  });

  test('a COMMIT ends the transaction and starts no other', async () => {
    const driver = await openDriver(database.url, { poolSize: 1 });
    await driver.transaction(function* (): Plan<void> {
      yield* read(statement('read', 'one', 'SELECT 1'));
    });
    expect(await driver.query(select('SELECT @@in_transaction AS Open'))).toEqual([{ Open: 0 }]);
  });

  test.each([
    ['SET sql_mode', 'sql_mode is'],
    ['SET sql_mode', 'time_zone is +05:30 instead of +00:00'],
    ['SET SESSION TRANSACTION', 'tx_isolation is SERIALIZABLE instead of READ-COMMITTED'],
    ['SET NAMES', 'character_set_client is latin1 instead of UTF8MB4'],
  ])('a proxy that swallows %s is found out', async (command, detail) => {
    const proxy = await startProxy(database.url);
    proxy.on(command, { replaceBy: 'DO 1' });
    const error = await failureOf(openDriver(proxy.url));
    expect(error).toMatchObject({ code: 'invalid_configuration' });
    expect(error.message).toContain(detail);
  });
});

describe('durability is enforced at start', () => {
  test('the report names engine, version, packet limit, and warns of an unsynced binary log', async () => {
    const { server: report } = await openDriver(database.url);
    expect(report).toMatchObject({ engine: 'mariadb', maxPacketBytes: 16 * 2 ** 20 });
    expect(report.version).toMatch(/^\d+\.\d+\.\d+-MariaDB/);
    expect(report.warnings).toEqual([expect.stringContaining('sync_binlog is not 1')]);
  });

  test('[ADM-1] innodb_flush_log_at_trx_commit other than 1 is refused, unless durability is waived', async () => {
    await ask(server.url, 'SET GLOBAL innodb_flush_log_at_trx_commit = 2');
    try {
      const error = await failureOf(openDriver(database.url));
      expect(error).toMatchObject({ code: 'durability_refused' });
      expect(error.message).toContain('innodb_flush_log_at_trx_commit is 2');
      const { server: report } = await openDriver(database.url, { unsafeDurability: true });
      expect(report.warnings[0]).toContain('innodb_flush_log_at_trx_commit is 2');
    } finally {
      await ask(server.url, 'SET GLOBAL innodb_flush_log_at_trx_commit = 1');
    }
  });

  test('a replica is refused', async () => {
    await ask(server.url, 'SET GLOBAL read_only = 1');
    try {
      expect(await failureOf(openDriver(database.url))).toMatchObject({ code: 'unsupported_engine' });
    } finally {
      await ask(server.url, 'SET GLOBAL read_only = 0');
    }
  });
});

describe('TLS', () => {
  const cipherBy = async (parameters: string, host = 'localhost'): Promise<string> => {
    const url = new URL(database.url);
    url.hostname = host;
    const driver = await openDriver(`${url.href}?${parameters}`);
    const rows = await driver.query(select("SHOW SESSION STATUS LIKE 'Ssl_cipher'"));
    return String(rows[0]!.Value);
  };
  const authority = `sslCa=${encodeURIComponent(certificate('authority'))}`;
  const socket = () => `socketPath=${encodeURIComponent(join(server.dataFolder, 'server.sock'))}`;

  test('ssl=false is plain, the others are encrypted', async () => {
    expect(await cipherBy('ssl=false')).toBe('');
    expect(await cipherBy('ssl=require')).not.toBe('');
    expect(await cipherBy(`ssl=verify-ca&${authority}`)).not.toBe('');
    expect(await cipherBy(`ssl=true&${authority}`)).not.toBe('');
  });

  test.each(['ssl=true', 'ssl=verify-ca'])(
    '%s refuses a certificate of an unknown authority',
    async (ssl) => {
      expect(await failureOf(cipherBy(ssl))).toMatchObject({ name: 'StoreOutage', outcome: 'none' });
    },
  );

  test('only verify-full minds the host name', async () => {
    expect(await cipherBy(`ssl=verify-ca&${authority}&${socket()}`, 'elsewhere.example')).not.toBe('');
    const refused = cipherBy(`ssl=verify-full&${authority}&${socket()}`, 'elsewhere.example');
    expect(await failureOf(refused)).toMatchObject({ name: 'StoreOutage', message: /elsewhere\.example/ });
  });

  test('a Unix socket needs no port', async () => {
    expect(await cipherBy(socket())).toBe('');
  });
});
