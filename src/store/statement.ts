/**
 * Static SQL. Every statement is defined once, at module load, in the subset that SQLite, MySQL 8, MariaDB and
 * TiDB share; a dialect fills in the few words that differ. All are in `statements()`, where the lint reads them.
 */
export interface Dialect {
  readonly name: 'sqlite' | 'mysql';
  /** Epoch milliseconds by the authority's clock: the database server, or the injected clock on SQLite (DESIGN: time). */
  readonly now: string;
  /** Appended to a SELECT that must lock and read the current version; empty where one writer makes every read current. */
  readonly forUpdate: string;
}

export interface Statement {
  readonly name: string;
  readonly kind: 'read' | 'write';
  /** Largest shape; 1: not a batch statement. */
  readonly maxSize: number;
  readonly sql: (dialect: Dialect, size: number) => string;
}

const registry: Statement[] = [];

function define(kind: 'read' | 'write', name: string, sql: Statement['sql'], maxSize: number): Statement {
  if (registry.some((other) => other.name === name)) throw new Error(`statement ${name} is defined twice`);
  const statement = {
    name,
    kind,
    maxSize,
    sql: (d: Dialect, size: number) => sql(d, size).replace(/\s+/g, ' ').trim(),
  };
  registry.push(statement);
  return statement;
}

export const reading = (name: string, sql: Statement['sql'], maxSize = 1): Statement =>
  define('read', name, sql, maxSize);
export const writing = (name: string, sql: Statement['sql'], maxSize = 1): Statement =>
  define('write', name, sql, maxSize);

export function statements(): readonly Statement[] {
  return registry;
}

/** `?, ?, ?` */
export function marks(size: number): string {
  return repeated('?', size);
}

/** `part` written `size` times, with commas. */
export function repeated(part: string, size: number, separator = ', '): string {
  return Array.from({ length: size }, () => part).join(separator);
}

/**
 * Batch shapes are powers of two, because a prepared statement is cached by its text (mysql2: per connection).
 * Lists are padded up to the next shape by repeating their last member; inserts are cut into whole shapes.
 */
export function shapeFor(count: number, maxSize: number): number {
  let size = 1;
  while (size < count && size < maxSize) size *= 2;
  return Math.min(size, maxSize);
}
