import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import type { Verdict } from './admission.js';
import type { Answer } from './answer.js';
import { readBody } from './read-body.js';
import type { RequestDecider } from './request-decider.js';
import type { RequestHead } from './request-head.js';

/** Serves a `Request` inside the process, by the same decisions as one from the network. Rejects for none of them. */
export async function answerFetch(request: Request, decider: RequestDecider): Promise<Response> {
  const body = request.body === null ? null : Readable.fromWeb(request.body as ReadableStream);
  const source = body ?? Readable.from([]);
  const verdict = await decider.decide(headOfFetch(request), (limitBytes, grow) =>
    readBody(source, limitBytes, grow),
  );
  decider.record(verdict, client);
  source.destroy();
  return responseOf(request, verdict);
}

/** A Request does not say where it came from. */
const client = (): string => 'in-process';

function headOfFetch(request: Request): RequestHead {
  const { pathname, search } = new URL(request.url);
  return {
    method: request.method,
    target: pathname + search,
    headers: [...request.headers],
    contentEncoding: request.headers.get('content-encoding') ?? undefined,
    // A Request may carry any Content-Length; what its stream gives is counted as it comes.
    bodyBytes: request.body === null ? 0 : null,
    client,
  };
}

function responseOf(request: Request, verdict: Verdict | 'truncated'): Response {
  if (verdict === 'truncated') return Response.error();
  const { status, contentType, body, headers } = verdict.answer;
  const bodyless = request.method === 'HEAD' || BODYLESS.has(status);
  return new Response(bodyless ? null : body, {
    status,
    headers: { 'content-type': contentType, ...headers },
  });
}

/** Statuses with which the constructor of `Response` takes no body. */
const BODYLESS: ReadonlySet<Answer['status']> = new Set([204, 205, 304]);
