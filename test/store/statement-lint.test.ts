import { readdirSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock, systemRandom } from '../../src/core/system.js';
import { mysqlDialect } from '../../src/store/dialects/mysql/dialect.js';
import { type MysqlDriver, openMysqlDriver } from '../../src/store/dialects/mysql/driver.js';
import { createSqlStore } from '../../src/store/sql-store.js';
import { type Statement, shapeFor, statements } from '../../src/store/statement.js';
import { createDatabase, type TestDatabase } from '../support/mariadb.js';
import { brokenRules, RULES } from './statement-rules.js';

const FOLDER = new URL('../../src/store/statements/', import.meta.url);
for (const file of readdirSync(FOLDER)) await import(new URL(file, FOLDER).pathname);

/** Every shape in which a statement may be sent. */
function shapesOf({ maxSize }: Statement): number[] {
  const shapes = Array.from({ length: maxSize }, (_, count) => shapeFor(count + 1, maxSize));
  return [...new Set(shapes)];
}

const textsOf = (statement: Statement): string[] =>
  shapesOf(statement).map((size) => statement.sql(mysqlDialect, size));
const named = statements().map((statement) => [statement.name, statement] as const);

describe('[OWN-1] [EVO-2] every mysql statement means the same on MySQL 8, MariaDB and TiDB', () => {
  test('there are statements to look at', () => {
    expect(named.length).toBeGreaterThan(40);
  });

  test.each(named)('%s', (_, statement) => {
    for (const text of textsOf(statement)) {
      expect({ text, broken: brokenRules({ kind: statement.kind, text }) }).toEqual({ text, broken: [] });
    }
  });
});

describe('every rule can fail', () => {
  const examples = RULES.flatMap(({ name, examples }) => examples.map((text) => [name, text] as const));
  test.each(examples)('%s: %s', (name, text) => {
    const kind = /^(?:SELECT|WITH)/.test(text) ? 'read' : 'write';
    expect(brokenRules({ kind, text })).toContain(name);
  });

  test.each([
    ['read', 'SELECT a AS Now FROM t WHERE b = \'FOR SHARE; `x` "y" || NOW()\' FOR UPDATE'],
    ['read', `SELECT ${mysqlDialect.now} AS Now, ROW_NUMBER() OVER (ORDER BY a) AS N FROM t LIMIT 10`],
    ['write', `UPDATE t SET a = COALESCE(?, a), b = ${mysqlDialect.now} WHERE c IN (?, ?)`],
    [
      'write',
      'UPDATE t SET a = 1 WHERE b IN (SELECT q.b FROM (SELECT w.b FROM t w WHERE w.c = ? LIMIT 9) q)',
    ],
    [
      'write',
      'DELETE FROM t WHERE a IN (SELECT q.a FROM (SELECT DISTINCT a FROM t) q) AND b IN (SELECT b FROM u)',
    ],
    ['write', 'INSERT INTO t (a) SELECT a FROM t WHERE a > ?'],
  ] as const)('%s: %s breaks none', (kind, text) => {
    expect(brokenRules({ kind, text })).toEqual([]);
  });
});

describe('every mysql statement is understood by a real server', () => {
  let database: TestDatabase;
  let driver: MysqlDriver;
  beforeAll(async () => {
    database = await createDatabase();
    driver = await openMysqlDriver({ url: database.url, clock: systemClock, poolSize: 1 });
    await createSqlStore({ driver, clock: systemClock, random: systemRandom() }).migrate();
  });
  afterAll(async () => {
    await driver.close();
    await database.drop();
  });

  const prepare = (text: string) => driver.script([`PREPARE checked FROM '${text.replaceAll("'", "''")}'`]);

  test.each(named)('%s', async (_, statement) => {
    for (const text of textsOf(statement)) await prepare(text);
  });

  test('names are resolved while preparing', async () => {
    await expect(prepare('SELECT Nothing FROM _System_ConnectorEvent')).rejects.toMatchObject({
      errno: 1054,
    });
  });
});
