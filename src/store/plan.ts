/**
 * A verb is a generator that yields statements and is sent their replies. The same code therefore runs inside
 * better-sqlite3 (synchronously, so that a transaction never spans a tick) and over mysql2 (asynchronously), and
 * a test can stop it before and after any statement.
 *
 *   function* pay(id: string): Plan<number> {
 *     const [row] = yield* read<{ Sum: number }>(selectSum, [id]);
 *     return yield* write(updateSum, [id, row.Sum]);
 *   }
 *
 * Of the engine's errors only `DuplicateKey` is thrown into the generator at its `yield`; any other ends it there.
 */
import type { Statement } from './statement.js';

export type Param = string | number | null | Uint8Array;
export type Row = Readonly<Record<string, unknown>>;

export interface Call {
  readonly statement: Statement;
  /** Shape of a batch statement: how many rows or list members it takes. 1 for others. */
  readonly size: number;
  readonly params: readonly Param[];
}

/** `rows` of a read, `changes` of a write (rows matched, as CLIENT_FOUND_ROWS counts them). */
export interface Reply {
  readonly rows: readonly Row[];
  readonly changes: number;
}

export type Plan<T> = Generator<Call, T, Reply>;

export function* read<R extends object>(
  statement: Statement,
  params: readonly Param[] = [],
  size = 1,
): Plan<R[]> {
  const reply = yield { statement, size, params };
  return reply.rows as unknown as R[];
}

export function* write(statement: Statement, params: readonly Param[] = [], size = 1): Plan<number> {
  const reply = yield { statement, size, params };
  return reply.changes;
}
