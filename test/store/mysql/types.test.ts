import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../../src/core/system.js';
import { MysqlConnection } from '../../../src/store/dialects/mysql/connection.js';
import { mysqlDialect } from '../../../src/store/dialects/mysql/dialect.js';
import { parseMysqlUrl } from '../../../src/store/dialects/mysql/url.js';
import { type Param, type Row, read, write } from '../../../src/store/plan.js';
import { createDatabase, type TestDatabase } from '../../support/mariadb.js';
import { ask, failureOf, openDriver, statement } from './support.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
  await ask(
    database.url,
    `CREATE TABLE kinds (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, number BIGINT, small TINYINT, bytes BINARY(32),
      blobs LONGBLOB, words TEXT, name VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin, document JSON, KEY (number)
    ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`,
  );
});
afterAll(() => database.drop());

const LARGEST = Number.MAX_SAFE_INTEGER;
const insert = statement(
  'write',
  'insert',
  'INSERT INTO kinds (number, small, bytes, blobs, words, name, document) VALUES (?, ?, ?, ?, ?, ?, ?)',
);
const last = statement('read', 'last', 'SELECT * FROM kinds ORDER BY id DESC LIMIT 1');

async function roundTrip(values: readonly Param[]): Promise<Row> {
  const driver = await openDriver(database.url);
  return driver.transaction(function* () {
    yield* write(insert, values);
    return (yield* read<Row>(last))[0]!;
  });
}

test('FIELD §1: integers up to 2^53-1, bytes with zeros, and emoji come back as they were', async () => {
  const bytes = Buffer.from([...Array(32).keys()]);
  const blob = Buffer.from('00ff00c3280a00', 'hex');
  const row = await roundTrip([
    LARGEST,
    -1,
    bytes,
    blob,
    '🚚 ünï\u0000 \\ " \'',
    'plain',
    '{"a":9007199254740993}',
  ]);
  expect(row).toMatchObject({ number: LARGEST, small: -1, words: '🚚 ünï\u0000 \\ " \'', name: 'plain' });
  expect(row.bytes).toEqual(bytes);
  expect(row.blobs).toEqual(blob);
  expect(row.document).toBe('{"a":9007199254740993}');
  expect(Object.getPrototypeOf(row)).toBe(Object.prototype);
});

test('NULL comes back as null, the smallest integer as itself', async () => {
  const row = await roundTrip([-LARGEST, null, null, null, null, null, null]);
  expect(row).toMatchObject({ number: -LARGEST, small: null, bytes: null, words: null, document: null });
});

test('a Uint8Array that is no Buffer, and a view into a larger one, are stored as their bytes', async () => {
  const view = new Uint8Array([1, 2, ...Array<number>(32).fill(0xe9), 3]).subarray(2, 34);
  const row = await roundTrip([1, 1, view, view, 'x', 'x', null]);
  expect(row.bytes).toEqual(Buffer.alloc(32, 0xe9));
  expect(row.blobs).toEqual(Buffer.alloc(32, 0xe9));
  const driver = await openDriver(database.url);
  const charset = statement('read', 'charset', 'SELECT CHARSET(?) AS Charset');
  expect(await driver.query(() => read<Row>(charset, [view]))).toEqual([{ Charset: 'binary' }]);
});

test('a parameter that cannot be sent is the caller’s error, and the connection goes on', async () => {
  const connections = new Set<number>();
  const driver = await openDriver(database.url, {
    poolSize: 1,
    onStatement: ({ connectionId }) => void connections.add(connectionId),
  });
  const echo = statement('read', 'echo', 'SELECT ? AS Echo');
  const broken = driver.transaction(() => read<Row>(echo, [undefined as never]));
  await expect(broken).rejects.toThrow(TypeError);
  expect(await driver.transaction(() => read<Row>(echo, ['x']))).toEqual([{ Echo: 'x' }]);
  expect(connections.size).toBe(1);
});

test('a changed row and a row that was matched only count alike (FOUND_ROWS); a missing one counts nothing', async () => {
  await roundTrip([7, 1, null, null, null, 'counted', null]);
  const driver = await openDriver(database.url);
  const update = statement('write', 'update', 'UPDATE kinds SET number = ? WHERE name = ?');
  const counts = await driver.transaction(function* () {
    return [
      yield* write(update, [8, 'counted']),
      yield* write(update, [8, 'counted']),
      yield* write(update, [8, 'nobody']),
    ];
  });
  expect(counts).toEqual([1, 1, 0]);
});

test('sums, counts, averages and truth values are numbers', async () => {
  const driver = await openDriver(database.url);
  const totals = statement(
    'read',
    'totals',
    `SELECT SUM(n) AS Sum, COUNT(*) AS Count, AVG(n) AS Average, MAX(n) AS Largest, n > 1 AS Truth,
       COALESCE(SUM(CASE WHEN n > 5 THEN 1 ELSE 0 END), 0) AS None
     FROM (SELECT ${LARGEST - 2} AS n UNION ALL SELECT 2) AS q GROUP BY n > 1`,
  );
  const rows = await driver.query(() => read<Row>(totals));
  expect(rows).toEqual([
    { Sum: LARGEST, Count: 2, Average: LARGEST / 2, Largest: LARGEST - 2, Truth: 1, None: 1 },
  ]);
});

test('[OWN-3] now is the server clock in whole milliseconds, and a number', async () => {
  const driver = await openDriver(database.url);
  // SET STATEMENT pins what NOW() is, so the expected value is exact.
  const exact = statement(
    'read',
    'exact',
    `SET STATEMENT timestamp = 1700000000.129 FOR SELECT ${mysqlDialect.now} AS Now`,
  );
  expect(await driver.query(() => read<Row>(exact))).toEqual([{ Now: 1_700_000_000_129 }]);
  const stored = statement(
    'write',
    'stored',
    `INSERT INTO kinds (number, name) VALUES (${mysqlDialect.now}, ?)`,
  );
  const before = Date.now() - 60_000;
  const row = await driver.transaction(function* () {
    yield* write(stored, ['clock']);
    return (yield* read<Row>(last))[0]!;
  });
  expect(row.number).toBeGreaterThan(before);
});

test('pingcap/tidb#40224: numbers can be bound as BIGINT, with the same results', async () => {
  const settings = {
    address: parseMysqlUrl(database.url),
    clock: systemClock,
    connectTimeoutMs: 5_000,
    statementTimeoutMs: 5_000,
    maxPreparedStatements: 10,
  };
  const connection = await MysqlConnection.open(settings);
  const typeOf = async () => (await connection.execute('SELECT ? AS Value', [LARGEST])).rows;
  const { rows } = await connection.execute(`SELECT 1.5 + ? AS Half, ? AS Nothing, ? AS Text`, [
    1,
    null,
    'x',
  ]);
  expect(rows).toEqual([{ Half: 2.5, Nothing: null, Text: 'x' }]);
  connection.numberBinding = 'bigint';
  expect(await typeOf()).toEqual([{ Value: LARGEST }]);
  const exact = await connection.execute('SELECT ? + ? AS Sum, ? AS Nothing, ? AS Text', [
    LARGEST,
    -LARGEST,
    null,
    'x',
  ]);
  expect(exact.rows).toEqual([{ Sum: 0, Nothing: null, Text: 'x' }]);
  // 2^53 - 1 + 2 does not fit a double: only an integer gets the parity right.
  const parity = await connection.execute('SELECT (? + ?) % 2 AS Odd', [LARGEST, 2]);
  expect(parity.rows).toEqual([{ Odd: 1 }]);
  await connection.end();
});

test('[ADM-3] a row longer than max_allowed_packet is refused before it costs the connection', async () => {
  const driver = await openDriver(database.url, { poolSize: 1 });
  const { maxPacketBytes } = driver.server;
  const blob = statement('write', 'blob', 'INSERT INTO kinds (name, blobs) VALUES (?, ?)');
  const connectionId = statement('read', 'connectionId', 'SELECT CONNECTION_ID() AS Id');
  const store = (bytes: number) => driver.transaction(() => write(blob, ['packet', Buffer.alloc(bytes)]));
  const before = await driver.query(() => read<Row>(connectionId));
  expect(await failureOf(store(maxPacketBytes - 20))).toMatchObject({ code: 'payload_too_large' });
  expect(await driver.query(() => read<Row>(connectionId))).toEqual(before);
  await store(maxPacketBytes - 1_000);
  const lengths = statement(
    'read',
    'lengths',
    "SELECT LENGTH(blobs) AS Bytes FROM kinds WHERE name = 'packet'",
  );
  expect(await driver.query(() => read<Row>(lengths))).toEqual([{ Bytes: maxPacketBytes - 1_000 }]);
});

test('a text is prepared once per connection, and the oldest is closed when there are too many', async () => {
  const driver = await openDriver(database.url, { poolSize: 1, maxPreparedStatements: 2 });
  const prepared = statement('read', 'prepared', "SHOW SESSION STATUS LIKE 'Com_stmt_prepare'");
  const closed = statement('read', 'closed', "SHOW SESSION STATUS LIKE 'Com_stmt_close'");
  const count = async (of: typeof prepared) => Number((await driver.query(() => read<Row>(of)))[0]!.Value);
  await count(prepared);
  const before = await count(prepared);
  expect(await count(prepared)).toBe(before);
  for (const text of ['SELECT 1', 'SELECT 2']) await driver.query(() => read(statement('read', 'one', text)));
  expect(await count(prepared)).toBe(before + 3);
  expect(await count(closed)).toBeGreaterThan(0);
});
