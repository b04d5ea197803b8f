import { describe, expect, test } from 'vitest';
import { ERRORS } from '../../src/core/errors.js';
import { sourceText } from './sources.js';

/** Rows `| \`code\` | status | …` of docs/errors.md. */
function documented(): Record<string, number | null> {
  const rows = sourceText('docs/errors.md').matchAll(/^\| `([a-z_]+)` \| (\d{3}|–) \|.+\|$/gm);
  return Object.fromEntries(
    [...rows].map(([, code, status]) => [code, status === '–' ? null : Number(status)]),
  );
}

describe('docs/errors.md', () => {
  test('lists every error code with its HTTP status, and no other', () => {
    const declared = Object.fromEntries(Object.entries(ERRORS).map(([code, entry]) => [code, entry.status]));
    expect(documented()).toEqual(declared);
  });
});
