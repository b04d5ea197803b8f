/** Control and format characters, line separators, lone surrogates: what could move a cursor or reorder a line. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

const escaped = (character: string): string =>
  [...Array(character.length).keys()]
    .map((place) => `\\u${character.charCodeAt(place).toString(16).padStart(4, '0')}`)
    .join('');

/** A provider's text as one harmless piece of a line: nothing in it reaches the terminal as a command. */
export const neutralize = (text: string): string => text.replace(UNSAFE, escaped);

/** One line of JSON that is harmless on a terminal too; JSON itself escapes only some control characters. */
export const toJson = (value: unknown): string => neutralize(JSON.stringify(value));

export interface Column<Row> {
  readonly title: string;
  readonly value: (row: Row) => string | number | null;
}

/** Rows below their titles; numbers stand to the right. */
export function table<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string[] {
  const cells = rows.map((row) => columns.map((column) => column.value(row)));
  const texts = [columns.map((column) => column.title), ...cells.map((line) => line.map(cellText))];
  const widths = columns.map((_, place) => Math.max(...texts.map((line) => line[place]!.length)));
  const isNumber = (place: number): boolean => cells.some((line) => typeof line[place] === 'number');
  return texts.map((line) =>
    line
      .map((text, place) => (isNumber(place) ? text.padStart(widths[place]!) : text.padEnd(widths[place]!)))
      .join('  ')
      .trimEnd(),
  );
}

const cellText = (value: string | number | null): string =>
  value === null ? '-' : neutralize(String(value));

/** Epoch milliseconds, for people. */
export const timeText = (epochMs: number | null): string | null =>
  epochMs === null ? null : new Date(epochMs).toISOString();
