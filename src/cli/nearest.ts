/** A misspelling changes at most this share of a word. */
const MAX_SHARE = 1 / 3;

/**
 * The known name that `word` was probably meant to be, or `null`.
 * @param wordOf what of a known name `word` is compared with
 */
export function nearest(
  word: string,
  known: Iterable<string>,
  wordOf: (name: string) => string,
): string | null {
  let best: string | null = null;
  let least = Math.ceil(word.length * MAX_SHARE) + 1;
  for (const name of known) {
    const edits = distance(word, wordOf(name));
    if (edits < least) [best, least] = [name, edits];
  }
  return best;
}

/** Levenshtein's: insertions, deletions and replacements. */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, place) => place);
  for (let i = 1; i <= one.length; i++) {
    const above = row;
    row = [i];
    for (let j = 1; j <= other.length; j++) {
      const replaced = above[j - 1]! + (one[i - 1] === other[j - 1] ? 0 : 1);
      row.push(Math.min(replaced, above[j]! + 1, row[j - 1]! + 1));
    }
  }
  return row[other.length]!;
}
