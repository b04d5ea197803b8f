/**
 * Keys whose values prove who someone is: never logged, however deep they lie. Compared without case, `-` and `_`, so
 * that `X-Hub-Signature-256`, `apiKey` and `access_token` are all found by their ends.
 */
const SECRET_KEY =
  /(authorization|^auth|bearer|cookie|signature\d*|secrets?|passwords?|passphrase|tokens?|jwt|credentials?|hmac(sha\d+)?|(api|private|access|signing|secret)keys?|databaseurl|connectionstring)$/;

const REDACTED = '[redacted]';
/** Deeper than what anybody logs on purpose; a loop in an object ends here too. */
const MAX_DEPTH = 8;

const isSecretKey = (key: string): boolean => SECRET_KEY.test(key.toLowerCase().replace(/[-_.\s]/g, ''));

/** A copy of log fields without the values of secret keys. Never throws. */
export function redacted(fields: object): Record<string, unknown> {
  try {
    return copyOf(fields, 0) as Record<string, unknown>;
  } catch {
    return { fields: REDACTED };
  }
}

function clean(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Error) return describeThrown(value, depth);
  if (value instanceof Date) return value;
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return `[${value.byteLength} bytes]`;
  return depth >= MAX_DEPTH ? '[too deep]' : copyOf(value, depth + 1);
}

function copyOf(value: object, depth: number): unknown {
  if (value instanceof Headers || value instanceof Map) return ofEntries([...value.entries()], depth);
  if (Array.isArray(value)) return ofList(value, depth);
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function') {
    const json: unknown = (value as { toJSON(): unknown }).toJSON();
    return typeof json === 'object' && json !== null ? ofEntries(Object.entries(json), depth) : json;
  }
  return ofEntries(Object.entries(value), depth);
}

/** Headers also come as a name followed by its value: as pairs, and all in one list. */
function ofList(values: readonly unknown[], depth: number): unknown[] {
  return values.map((value, place) => {
    const before = place % 2 === 1 ? values[place - 1] : undefined;
    return typeof before === 'string' && isSecretKey(before) ? REDACTED : clean(value, depth);
  });
}

function ofEntries(entries: readonly (readonly [unknown, unknown])[], depth: number): object {
  const cleaned = entries.map(([key, value]) => {
    const name = String(key);
    return [name, isSecretKey(name) ? REDACTED : clean(value, depth)] as const;
  });
  return Object.fromEntries(cleaned);
}

/** What is known about an error without a value in it: those of engines and HTTP clients carry rows and headers as fields. */
function describeThrown(error: Error & { readonly code?: unknown }, depth: number): object {
  const { name: type, message, code, stack, cause } = error;
  return {
    type,
    message,
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
    stack,
    ...(cause instanceof Error && depth < MAX_DEPTH ? { cause: describeThrown(cause, depth + 1) } : {}),
  };
}
