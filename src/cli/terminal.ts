import type { Page } from '../store/store.js';
import { type Column, neutralize, table, toJson } from './output.js';
import type { Environment } from './settings-reader.js';

/** What a command sees of the process it runs in. */
export interface Terminal {
  readonly environment: Environment;
  /** One line to stdout. */
  print(line: string): void;
  /** One line to stderr. */
  complain(line: string): void;
  /** Shows how far it has come, in place of what it showed last; absent where nobody looks on. */
  readonly progress?: (text: string) => void;
}

/** One JSON value, or lines for a person. */
export function printValue(
  terminal: Terminal,
  asJson: boolean | undefined,
  value: unknown,
  readable: () => readonly string[],
): void {
  for (const line of asJson ? [toJson(value)] : readable()) terminal.print(line);
}

/** A list in the one shape all of them have, or as a table. */
export function printPage<Row>(
  terminal: Terminal,
  asJson: boolean | undefined,
  { items, next }: Page<Row>,
  columns: readonly Column<Row>[],
): void {
  const more = next === null ? [] : [`more: --cursor ${neutralize(next)}`];
  printValue(terminal, asJson, { items, next }, () => [...table(columns, items), ...more]);
}
