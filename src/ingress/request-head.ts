import type { IncomingMessage } from 'node:http';

/** A request before its body. */
export interface RequestHead {
  readonly method: string;
  /** Path and query exactly as received. */
  readonly target: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly contentEncoding: string | undefined;
  /** The announced length of the body; `null`: unknown until it was read (chunked). */
  readonly bodyBytes: number | null;
  /** The address it came from. A function, for it costs something behind proxies and is hardly ever asked. */
  readonly client: () => string;
}

/** Path and query of an HTTP/1.1 message; `null` when the message is one that Node lets pass and the field warns of. */
export function headOf(message: IncomingMessage, client: () => string): RequestHead | null {
  const headers = pairs(message.rawHeaders);
  const { headers: joined, httpVersion } = message;
  if (hostCount(headers) !== 1 && (httpVersion === '1.1' || hostCount(headers) > 1)) return null;
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return null;
  const transferEncoding = joined['transfer-encoding'];
  // Only plain chunking is undone here; `gzip, chunked` or an unknown coding would store other bytes than were
  // signed, and HTTP/1.0 has no transfer coding (RFC 9112 §6.1: faulty framing).
  if (
    transferEncoding !== undefined &&
    (transferEncoding.toLowerCase() !== 'chunked' || httpVersion === '1.0')
  )
    return null;
  return {
    method: message.method ?? '',
    target: originForm(message.url ?? ''),
    headers,
    contentEncoding: joined['content-encoding'],
    bodyBytes: transferEncoding === undefined ? Number(joined['content-length'] ?? 0) : null,
    client,
  };
}

function pairs(rawHeaders: readonly string[]): (readonly [string, string])[] {
  const headers: (readonly [string, string])[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) headers.push([rawHeaders[i]!, rawHeaders[i + 1]!]);
  return headers;
}

function hostCount(headers: RequestHead['headers']): number {
  let count = 0;
  for (const [name] of headers) if (name.length === 4 && name.toLowerCase() === 'host') count += 1;
  return count;
}

/** A client may send the whole URL as its target (RFC 9112 §3.2.2); only its path and query mean something here. */
function originForm(target: string): string {
  if (target.startsWith('/')) return target;
  return target.replace(/^https?:\/\/[^/?#]*/i, '') || '/';
}

/** The path of a target, and its segments after the first slash. */
export function pathOf(target: string): string {
  const query = target.indexOf('?');
  return query < 0 ? target : target.slice(0, query);
}

/** `/in/{namespace}/{pack}/{route}` and nothing else; `null` for every other path. */
export function routeNames(path: string): readonly [namespace: string, pack: string, route: string] | null {
  const [, prefix, namespace, pack, route, ...rest] = path.split('/');
  if (prefix !== 'in' || !namespace || !pack || !route || rest.length > 0) return null;
  if (!path.includes('%')) return [namespace, pack, route];
  try {
    return [decodeURIComponent(namespace), decodeURIComponent(pack), decodeURIComponent(route)];
  } catch {
    return null;
  }
}
