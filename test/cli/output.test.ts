import { describe, expect, test } from 'vitest';
import { neutralize, table, toJson } from '../../src/cli/output.js';

const HOSTILE = 'a\r\nb\u001b[31m\u009b2J\u202e\u2028\ud800🙂é';

describe('output for people', () => {
  test('neutralizes CR, LF, ANSI, C1, bidirectional and separator characters, and nothing readable', () => {
    expect(neutralize(HOSTILE)).toBe('a\\u000d\\u000ab\\u001b[31m\\u009b2J\\u202e\\u2028\\ud800🙂é');
  });

  test('is JSON that says the same and holds none of them as they are', () => {
    const text = toJson({ value: HOSTILE });
    expect(JSON.parse(text)).toEqual({ value: HOSTILE });
    expect(text).toMatch(/^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]*$/u);
  });

  test('aligns text to the left, numbers to the right, and neutralizes cells', () => {
    const columns = [
      { title: 'NAME', value: (row: { name: string; count: number | null }) => row.name },
      { title: 'COUNT', value: (row: { name: string; count: number | null }) => row.count },
    ];
    const rows = [
      { name: 'evil\nrow', count: 1_000 },
      { name: 'b', count: null },
      { name: 'c', count: 7 },
    ];
    expect(table(columns, rows)).toEqual([
      'NAME           COUNT',
      'evil\\u000arow   1000',
      'b                  -',
      'c                  7',
    ]);
  });
});
