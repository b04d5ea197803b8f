/** One answer, as it came over the wire. */
export interface WireAnswer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** What came is no sequence of HTTP answers. */
export class MalformedAnswer extends Error {}

const START = /^HTTP\/1\.1 (\d{3}) [\x20-\x7e]*$/;
const HEADER = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+): ?([\x20-\x7e\x80-\xff]*)$/;

/**
 * All final answers in what a connection received; strict, where clients are lenient. A HEAD is answered with the
 * length of a body that does not follow; `mayBeHead` allows that reading.
 * @throws MalformedAnswer
 */
export function parseAnswers(received: string, mayBeHead: boolean): { answers: WireAnswer[]; rest: string } {
  const answers: WireAnswer[] = [];
  let rest = received;
  for (;;) {
    const end = rest.indexOf('\r\n\r\n');
    if (end < 0) return { answers, rest };
    const { status, headers } = parseHead(rest.slice(0, end));
    const body = rest.slice(end + 4);
    if (status === 100) {
      rest = body;
      continue;
    }
    const isHead = mayBeHead && (body === '' || body.startsWith('HTTP/1.1 '));
    const length = isHead ? 0 : bodyLength(status, headers);
    if (body.length < length) return { answers, rest };
    answers.push({ status, headers, body: body.slice(0, length) });
    rest = body.slice(length);
  }
}

function parseHead(head: string): { status: number; headers: Map<string, string> } {
  const [start = '', ...lines] = head.split('\r\n');
  const status = START.exec(start)?.[1];
  if (status === undefined)
    throw new MalformedAnswer(`no status line: ${JSON.stringify(start.slice(0, 200))}`);
  const headers = new Map<string, string>();
  for (const line of lines) {
    const [, name, value] = HEADER.exec(line) ?? [];
    if (name === undefined) throw new MalformedAnswer(`no header: ${JSON.stringify(line.slice(0, 200))}`);
    const key = name.toLowerCase();
    if (headers.has(key)) throw new MalformedAnswer(`${key} stands twice in an answer`);
    headers.set(key, value!);
  }
  return { status: Number(status), headers };
}

function bodyLength(status: number, headers: ReadonlyMap<string, string>): number {
  if (headers.has('transfer-encoding')) throw new MalformedAnswer('an answer of no announced length');
  const length = headers.get('content-length');
  if (length === undefined || !/^\d+$/.test(length)) throw new MalformedAnswer(`${status} without a length`);
  return Number(length);
}
