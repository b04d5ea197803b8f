import { LaneheadError } from '../core/errors.js';

/** What a provider may have signed. Strings are hashed as UTF-8; the body is hashed as the bytes received. */
export interface SignedParts {
  readonly method: string;
  /** The URL as configured at the provider; `''` when the scheme has none. Never built from the Host header. */
  readonly url: string;
  /** Path and query as received. */
  readonly target: string;
  /** The timestamp header as received; `''` when the scheme has none. */
  readonly timestamp: string;
  readonly body: Uint8Array;
}

type Piece = string | Uint8Array;

/**
 * The signed string: a template over `{method}`, `{url}`, `{target}`, `{timestamp}` and `{body}`, or a function
 * that returns the pieces in order.
 */
export type SignedContent = string | ((parts: SignedParts) => Piece | readonly Piece[]);

/** @throws LaneheadError `invalid_pack` for an unknown placeholder. */
export function compileSignedContent(content: SignedContent): (parts: SignedParts) => readonly Piece[] {
  if (typeof content === 'function') {
    return (parts) => {
      const pieces = content(parts);
      return typeof pieces === 'string' || pieces instanceof Uint8Array ? [pieces] : pieces;
    };
  }
  const steps = content.split(/(\{[^{}]*\})/).filter((step) => step !== '');
  const readers = steps.map((step) => (step.startsWith('{') ? placeholder(step) : () => step));
  return (parts) => readers.map((reader) => reader(parts));
}

const PLACEHOLDERS = ['method', 'url', 'target', 'timestamp', 'body'] as const;

function placeholder(step: string): (parts: SignedParts) => Piece {
  const name = PLACEHOLDERS.find((known) => step === `{${known}}`);
  if (name === undefined) {
    const known = PLACEHOLDERS.map((one) => `{${one}}`).join(', ');
    throw new LaneheadError('invalid_pack', `signatures.hmac: signed: ${step} is not one of ${known}`);
  }
  return (parts) => parts[name];
}
