import { mysqlDialect } from '../../src/store/dialects/mysql/dialect.js';
import type { Statement } from '../../src/store/statement.js';

/** One statement as the engines see it. */
export interface Sql {
  readonly kind: Statement['kind'];
  /** On one line. */
  readonly text: string;
}

export interface Rule {
  readonly name: string;
  /** What goes wrong otherwise. */
  readonly why: string;
  /** `bare`: the text without the contents of its string literals. */
  readonly breaks: (bare: string, sql: Sql) => boolean;
  /** Statements that break it. */
  readonly examples: readonly string[];
}

const matches = (pattern: RegExp) => (bare: string) => pattern.test(bare);

const LOCKING: readonly Rule[] = [
  {
    name: 'skip-locked',
    why: 'TiDB parses it and locks nothing',
    breaks: matches(/\bSKIP LOCKED\b/i),
    examples: ['SELECT a FROM t WHERE a = ? FOR UPDATE SKIP LOCKED'],
  },
  {
    name: 'nowait',
    why: 'its error differs: 1205 on MariaDB, 3572 on MySQL',
    breaks: matches(/\bNOWAIT\b/i),
    examples: ['SELECT a FROM t WHERE a = ? FOR UPDATE NOWAIT'],
  },
  {
    name: 'shared-lock',
    why: 'a no-op on TiDB; two holders that upgrade deadlock elsewhere',
    breaks: matches(/\bLOCK IN SHARE MODE\b|\bFOR SHARE\b/i),
    examples: ['SELECT a FROM t WHERE a = ? LOCK IN SHARE MODE', 'SELECT a FROM t WHERE a = ? FOR SHARE'],
  },
  {
    name: 'for-update-of',
    why: 'TiDB changed its meaning between patch releases; MariaDB does not know it',
    breaks: matches(/\bFOR UPDATE OF\b/i),
    examples: ['SELECT a FROM t x WHERE a = ? FOR UPDATE OF x'],
  },
  {
    name: 'for-update-last',
    why: 'inside a subquery engines disagree about what is locked',
    breaks: matches(/\bFOR UPDATE\b(?!$)/i),
    examples: [
      'SELECT a FROM t WHERE a IN (SELECT a FROM u FOR UPDATE)',
      'SELECT a FROM t FOR UPDATE LIMIT 1',
    ],
  },
];

const WRITING: readonly Rule[] = [
  {
    name: 'multi-table-update',
    why: 'TiDB counts its rows differently',
    breaks: matches(/^UPDATE (?:(?!\bSET\b).)*?(?:,|\bJOIN\b)/i),
    examples: [
      'UPDATE a, b SET a.x = b.x WHERE a.i = b.i',
      'UPDATE a JOIN b ON a.i = b.i SET a.x = 1 WHERE b.x = 2',
    ],
  },
  {
    name: 'multi-table-delete',
    why: 'the same; and an alias in a DELETE is an error on MariaDB',
    breaks: matches(/^DELETE\b(?! FROM \w+(?: WHERE| ORDER BY| LIMIT|$))/i),
    examples: [
      'DELETE a FROM a JOIN b ON a.i = b.i WHERE b.x = 1',
      'DELETE FROM a USING a, b WHERE a.i = b.i',
    ],
  },
  {
    name: 'ignored-errors',
    why: 'IGNORE hides other errors than the one meant',
    breaks: matches(/^(?:INSERT|UPDATE|DELETE)(?: LOW_PRIORITY| DELAYED| QUICK)? (?:OR )?IGNORE\b/i),
    examples: ['INSERT IGNORE INTO t (a) VALUES (?)', 'UPDATE IGNORE t SET a = 1 WHERE a = 2'],
  },
  {
    name: 'upsert',
    why: 'a plain read in an old snapshot misses the row it found, and it counts differently',
    breaks: matches(/^REPLACE\b|\bON DUPLICATE KEY\b|\bON CONFLICT\b/i),
    examples: [
      'REPLACE INTO t (a) VALUES (?)',
      'INSERT INTO t (a) VALUES (?) ON DUPLICATE KEY UPDATE a = a',
      'INSERT INTO t (a) VALUES (?) ON CONFLICT DO NOTHING',
    ],
  },
  {
    name: 'returning',
    why: 'MySQL has none, MariaDB not for UPDATE',
    breaks: matches(/\bRETURNING\b/i),
    examples: ['DELETE FROM t WHERE a = ? RETURNING a'],
  },
  {
    name: 'own-table-subquery',
    why: 'MySQL 8 refuses it (1093) outside a derived table that it cannot merge; MariaDB accepts it',
    breaks: readsOwnTable,
    examples: [
      'UPDATE t SET a = 1 WHERE b IN (SELECT b FROM t WHERE c = ?)',
      'UPDATE t SET a = 1 WHERE b IN (SELECT q.b FROM (SELECT b FROM t WHERE c = ?) q)',
      'DELETE FROM t WHERE b IN (SELECT u.b FROM u JOIN t ON t.b = u.b)',
    ],
  },
  {
    name: 'window-in-write',
    why: 'a window reads the whole range before the first row is written',
    breaks: (bare, { kind }) => kind === 'write' && /\bOVER ?\(/i.test(bare),
    examples: ['INSERT INTO t (a) SELECT ROW_NUMBER() OVER (ORDER BY b) FROM u'],
  },
  {
    name: 'write-without-where',
    why: 'it touches every row',
    breaks: (bare) => /^(?:UPDATE|DELETE)\b/i.test(bare) && !/\bWHERE\b/i.test(bare),
    examples: ['UPDATE t SET a = 1', 'DELETE FROM t'],
  },
];

const DIALECT: readonly Rule[] = [
  {
    name: 'limit-placeholder',
    why: 'MySQL from 8.0.22 on refuses it in a prepared statement unless it is bound as a string',
    breaks: matches(/\b(?:LIMIT|OFFSET) (?:\d+, ?)?\?/i),
    examples: ['SELECT a FROM t LIMIT ?', 'SELECT a FROM t LIMIT 1 OFFSET ?', 'SELECT a FROM t LIMIT 1, ?'],
  },
  {
    name: 'table-functions',
    why: 'missing in one of the engines',
    breaks: matches(/\bJSON_TABLE\b|\bLATERAL\b/i),
    examples: ['SELECT a FROM t, LATERAL (SELECT 1) q', "SELECT a FROM JSON_TABLE(?, '$' COLUMNS (a INT)) q"],
  },
  {
    name: 'set-operations',
    why: 'MySQL has EXCEPT and INTERSECT only from 8.0.31 on',
    breaks: matches(/\bEXCEPT\b|\bINTERSECT\b/i),
    examples: ['SELECT a FROM t EXCEPT SELECT a FROM u'],
  },
  {
    name: 'quoting',
    why: 'backticks and double quotes depend on sql_mode or on the engine; names need neither',
    breaks: matches(/[`"]/),
    examples: ['SELECT `a` FROM t', 'SELECT "a" FROM t'],
  },
  {
    name: 'backslash',
    why: 'an escape on MySQL, a character on SQLite',
    breaks: (_, { text }) => text.includes('\\'),
    examples: ["SELECT 'it\\'s' AS A"],
  },
  {
    name: 'bars',
    why: 'a logical OR on MySQL, a concatenation on SQLite',
    breaks: matches(/\|\|/),
    examples: ["SELECT 'a' || b FROM t"],
  },
  {
    name: 'comment',
    why: 'some are hints on one engine; the reason stands above the statement',
    breaks: matches(/\/\*|--|#/),
    examples: ['SELECT /*+ NO_MERGE(q) */ a FROM t', 'SELECT a FROM t -- why', 'SELECT a FROM t # why'],
  },
  {
    name: 'several',
    why: 'a prepared statement is one statement',
    breaks: matches(/;/),
    examples: ['SELECT 1; SELECT 2'],
  },
  {
    name: 'vendor-function',
    why: 'not everywhere, or not the same everywhere; chance and identity are passed in',
    breaks: matches(
      /\b(?:IFNULL|IF|IIF|NVL|ISNULL|FOUND_ROWS|ROW_COUNT|LAST_INSERT_ID|GROUP_CONCAT|RAND|RANDOM|UUID|SLEEP) ?\(/i,
    ),
    examples: ['SELECT IFNULL(a, 0) FROM t', 'SELECT IF(a, 1, 0) FROM t', 'SELECT RAND() AS A'],
  },
  {
    name: 'other-clock',
    why: 'time is epoch milliseconds by dialect.now and nothing else',
    breaks: (bare) => OTHER_CLOCK.test(bare.replaceAll(mysqlDialect.now, '')),
    examples: [
      'SELECT a FROM t WHERE b < NOW()',
      'SELECT CURRENT_TIMESTAMP AS A',
      'SELECT UNIX_TIMESTAMP() AS A',
      'SELECT a FROM t WHERE b < DATE_ADD(c, INTERVAL 1 DAY)',
    ],
  },
  {
    name: 'kind',
    why: 'what an outage may have left behind is decided by it',
    breaks: (bare, { kind }) =>
      !(kind === 'read' ? /^SELECT\b/i : /^(?:INSERT INTO|UPDATE|DELETE)\b/i).test(bare),
    examples: ['WITH q AS (SELECT 1 AS a) SELECT a FROM q', 'CALL p()'],
  },
  {
    name: 'parameters',
    why: 'SQLite takes 32,766 of them, MySQL 65,535',
    breaks: (bare) => bare.split('?').length - 1 > 32_766,
    examples: [`SELECT a FROM t WHERE a IN (${'?, '.repeat(32_766)}?)`],
  },
];

const OTHER_CLOCK =
  /\b(?:(?:NOW|SYSDATE|CURDATE|CURTIME|UNIX_TIMESTAMP|FROM_UNIXTIME|DATE_ADD|DATE_SUB|TIMESTAMPDIFF|TIMESTAMPADD|STRFTIME|DATETIME|JULIANDAY) ?\(|CURRENT_TIMESTAMP|CURRENT_DATE|CURRENT_TIME|LOCALTIME|LOCALTIMESTAMP|UTC_TIMESTAMP|UTC_DATE|UTC_TIME)/i;

export const RULES: readonly Rule[] = [...LOCKING, ...WRITING, ...DIALECT];

/** The names of the rules that a statement breaks. */
export function brokenRules(sql: Sql): string[] {
  const bare = sql.text.replace(/'(?:[^']|'')*'/g, "''");
  return RULES.filter((rule) => rule.breaks(bare, sql)).map((rule) => rule.name);
}

interface Group {
  /** `FROM (SELECT …)`. */
  readonly derived: boolean;
  /** Something in it keeps the optimizer from merging it into its surroundings. */
  sealed: boolean;
}

const SEALS = /^(?:LIMIT|DISTINCT|GROUP|HAVING|UNION)$/i;

/** Does an UPDATE or DELETE read its own table anywhere but inside a derived table that stays one? */
function readsOwnTable(bare: string): boolean {
  const written = /^(?:UPDATE|DELETE FROM) (\w+)/i.exec(bare);
  if (!written) return false;
  const tokens = bare.slice(written[0].length).match(/\w+|[^\s\w]/g) ?? [];
  const open: Group[] = [];
  const reads: Group[][] = [];
  tokens.forEach((token, at) => {
    const isSource = /^(?:FROM|JOIN)$/i.test(tokens[at - 1] ?? '');
    if (token === '(')
      open.push({ derived: isSource && /^SELECT$/i.test(tokens[at + 1] ?? ''), sealed: false });
    else if (token === ')') open.pop();
    else if (SEALS.test(token) && open.length > 0) open.at(-1)!.sealed = true;
    else if (isSource && token === written[1]) reads.push([...open]);
  });
  return reads.some((groups) => !groups.some((group) => group.derived && group.sealed));
}
