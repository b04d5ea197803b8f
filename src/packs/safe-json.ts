import { parse } from 'secure-json-parse';

const FORM = 'application/x-www-form-urlencoded';

/** The media type without its parameters, in lower case; `''` when absent. */
export function mediaType(contentType: string | undefined): string {
  return (contentType ?? '').split(';', 1)[0]!.trim().toLowerCase();
}

/** UTF-8, with U+FFFD for what is not; a view of the bytes, never a copy to store. */
export function utf8(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}

/** A text that is not the JSON it should be. Its message says where, and quotes nothing of it. */
export class BrokenJson extends SyntaxError {
  constructor(message: string) {
    super(message);
    this.name = 'BrokenJson';
  }
}

/**
 * JSON without `__proto__` and `constructor.prototype` keys. Integers beyond 2^53 lose digits, as in any
 * `JSON.parse`: the received bytes stay the authority.
 * @throws BrokenJson, because V8's own message quotes the text, and what `materialize` throws is stored and shown.
 */
export function parseJson(text: string): unknown {
  try {
    return parse(text, { protoAction: 'remove', constructorAction: 'remove' });
  } catch (error) {
    throw new BrokenJson(describeFault(error));
  }
}

/** As `parseJson`; `undefined` instead of an error, for bytes that nobody has verified yet. */
export function tryParseJson(bytes: Uint8Array): unknown {
  try {
    return parseJson(utf8(bytes));
  } catch {
    return undefined;
  }
}

/**
 * A body as JSON. Some providers (GitHub, Slack) can send their JSON in the `payload` field of a form; only the
 * received bytes were signed, so the field is looked up here, after verification.
 */
export function parseJsonBody(bytes: Uint8Array, contentType: string | undefined): unknown {
  const text = utf8(bytes);
  // A payload that materialize wrote itself is JSON even when the request was a form.
  if (mediaType(contentType) !== FORM || /^\s*[{["]/.test(text)) return parseJson(text);
  const field = new URLSearchParams(text).get('payload');
  if (field === null) throw new BrokenJson('the form has no payload field');
  return parseJson(field);
}

function describeFault(error: unknown): string {
  const position = error instanceof Error ? /position (\d+)/.exec(error.message)?.[1] : undefined;
  return position === undefined ? 'not valid JSON' : `not valid JSON at position ${position}`;
}

/** Narrow a parsed value to a JSON object; `null` for anything else. */
export function jsonObject(value: unknown): Readonly<Record<string, unknown>> | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null;
}

/** Narrow a parsed value to a text; `''` for anything else, some of which cannot even be made one. */
export function jsonText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
