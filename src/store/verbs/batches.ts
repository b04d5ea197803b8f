import { type Param, type Plan, read, write } from '../plan.js';
import { type Statement, shapeFor } from '../statement.js';

/** Members of a list as parameters: one each, or several (a lease is three). */
export type Member = readonly Param[];

/** Turns a padded list into the statement's parameters; most take just the list. */
type Arrange = (list: readonly Param[]) => readonly Param[];

const plain: Arrange = (list) => list;

function* chunks(statement: Statement, members: readonly Member[]): Generator<readonly Member[]> {
  for (let at = 0; at < members.length; at += statement.maxSize) {
    yield members.slice(at, at + statement.maxSize);
  }
}

function padded(members: readonly Member[], size: number): Param[] {
  const list: Param[] = [];
  for (let i = 0; i < size; i++) list.push(...members[Math.min(i, members.length - 1)]!);
  return list;
}

/** Reads by list, in as many shapes as it takes; an empty list asks nothing. */
export function* readList<R extends object>(
  statement: Statement,
  members: readonly Member[],
  arrange: Arrange = plain,
): Plan<R[]> {
  const rows: R[] = [];
  for (const chunk of chunks(statement, members)) {
    const size = shapeFor(chunk.length, statement.maxSize);
    rows.push(...(yield* read<R>(statement, arrange(padded(chunk, size)), size)));
  }
  return rows;
}

/** Updates by list. Padding repeats a member, which changes no row twice. */
export function* writeList(
  statement: Statement,
  members: readonly Member[],
  arrange: Arrange = plain,
): Plan<number> {
  let changes = 0;
  for (const chunk of chunks(statement, members)) {
    const size = shapeFor(chunk.length, statement.maxSize);
    changes += yield* write(statement, arrange(padded(chunk, size)), size);
  }
  return changes;
}

/** Of one insert, its first row aside. Far below what any server takes in one packet, far above a round trip's price. */
const MAX_INSERT_BYTES = 2 ** 20;

/** The largest whole shape that the rows from `at` on fill, within the bytes of one insert: it cannot be padded. */
export function insertShape(statement: Statement, rows: readonly Member[], at: number): number {
  const most = Math.min(rows.length - at, statement.maxSize);
  let size = 1;
  let bytes = bytesOf(rows[at]!);
  while (size * 2 <= most) {
    for (let place = at + size; place < at + size * 2; place++) bytes += bytesOf(rows[place]!);
    if (bytes > MAX_INSERT_BYTES) break;
    size *= 2;
  }
  return size;
}

/** A text's characters stand for its bytes: they are at most three times as many. */
function bytesOf(row: Member): number {
  let bytes = 0;
  for (const value of row) bytes += value === null || typeof value === 'number' ? 8 : value.length;
  return bytes;
}

export function* insertList(statement: Statement, rows: readonly Member[]): Plan<void> {
  for (let at = 0; at < rows.length; ) {
    const size = insertShape(statement, rows, at);
    yield* write(statement, rows.slice(at, at + size).flat(), size);
    at += size;
  }
}

export const one = (value: Param): Member => [value];
export const ids = (values: readonly Param[]): Member[] => values.map(one);
