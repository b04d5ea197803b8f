import type { WorkError } from '../core/outcome.js';
import { BrokenJson } from '../packs/safe-json.js';

const MAX_CHARACTERS = 2_000;
const MAX_CAUSES = 3;

/** Any text as one line that a row, a log and a terminal can hold: bounded, no control characters, valid UTF-16. */
export function plainText(text: string, maxCharacters: number = MAX_CHARACTERS): string {
  const clean = text
    .slice(0, maxCharacters)
    .replace(/[\p{Cc}\p{Cs}\u2028\u2029]+/gu, ' ')
    .trim();
  return text.length > maxCharacters ? `${clean.slice(0, maxCharacters - 1)}…` : clean;
}

/**
 * What was thrown, as it is stored. The author's own words are kept, within bounds; what the runtime would quote
 * from the input is not, nor is any thrown value that is not an Error or a text. Never throws itself.
 */
export function workError(code: string, thrown: unknown): WorkError {
  try {
    return { code, message: plainText(describeChain(thrown)) };
  } catch {
    return { code, message: 'something was thrown that cannot be read' };
  }
}

/** The message and, because `fetch failed` says nothing by itself, what it was caused by. */
function describeChain(thrown: unknown): string {
  const parts: string[] = [];
  let current = thrown;
  while (parts.length <= MAX_CAUSES) {
    parts.push(describeOne(current));
    if (!(current instanceof Error) || current.cause === undefined) break;
    current = current.cause;
  }
  return parts.join(', caused by ');
}

function describeOne(thrown: unknown): string {
  if (typeof thrown === 'string') return plainText(thrown);
  if (!(thrown instanceof Error)) return `${thrown === null ? 'null' : typeof thrown} was thrown`;
  // The engine's SyntaxError quotes the text that it could not parse: JSON, a number, a regular expression.
  if (thrown instanceof SyntaxError && !(thrown instanceof BrokenJson)) {
    return 'SyntaxError: text could not be parsed';
  }
  return `${plainText(String(thrown.name), 100)}: ${plainText(String(thrown.message))}`;
}
