import { utf8 } from './safe-json.js';

const CRLF = '\r\n';
const MAX_PARTS = 1_000;

/**
 * The text fields of a `multipart/form-data` body (RFC 7578), in order; files are left out, nested multiparts are
 * not opened. Synchronous, since a signature inside the body must be read before anything is decided; the body
 * itself stays as it was received. Empty when the body is not such a form.
 */
export function multipartFields(
  body: Uint8Array,
  contentType: string,
): readonly (readonly [string, string])[] {
  const boundary = boundaryOf(contentType);
  if (boundary === null) return [];
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.length);
  return [...parts(bytes, boundary)].map(textField).filter((field) => field !== null);
}

function boundaryOf(contentType: string): string | null {
  const found = /;\s*boundary=(?:"([^"]+)"|([^\s;]+))/i.exec(contentType);
  return found === null ? null : (found[1] ?? found[2]!);
}

/** The bytes between two delimiters, each a CRLF, two dashes and the boundary. */
function* parts(body: Buffer, boundary: string): Generator<Buffer> {
  const delimiter = `${CRLF}--${boundary}`;
  const opening = delimiter.slice(CRLF.length);
  let start = startOfFirst(body, opening, delimiter);
  for (let count = 0; start >= 0 && count < MAX_PARTS; count++) {
    if (body.toString('latin1', start, start + 2) === '--') return;
    const end = body.indexOf(delimiter, start);
    if (end < 0) return;
    // What stands between the boundary and its line's end is padding. A part without any line is empty.
    yield body.subarray(body.indexOf(CRLF, start) + CRLF.length, end);
    start = end + delimiter.length;
  }
}

function startOfFirst(body: Buffer, opening: string, delimiter: string): number {
  if (body.indexOf(opening) === 0) return opening.length;
  const preambleEnd = body.indexOf(delimiter);
  return preambleEnd < 0 ? -1 : preambleEnd + delimiter.length;
}

function textField(part: Buffer): [name: string, value: string] | null {
  const blank = part.indexOf(CRLF + CRLF);
  if (blank < 0) return null;
  const head = utf8(part.subarray(0, blank));
  const disposition = /^content-disposition:\s*form-data(;.*)$/im.exec(head)?.[1];
  if (disposition === undefined || /;\s*filename\*?=/i.test(disposition)) return null;
  const name = /;\s*name=(?:"([^"]*)"|([^\s;]+))/i.exec(disposition);
  return name === null ? null : [name[1] ?? name[2]!, utf8(part.subarray(blank + 2 * CRLF.length))];
}
