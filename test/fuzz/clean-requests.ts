import fc from 'fast-check';
import { BODY_LIMIT_BYTES } from '../support/push-route.js';
import { type Chunk, type DrawnRequest, type Framing, PUSH, SUBSCRIBE } from './http-request.js';

/** One that is in order. */
export interface CleanRequest extends DrawnRequest {
  /** What it must be answered. */
  readonly status: number;
}

/** Signed, and quarantined: each of these is a receipt of its own. */
export const NOT_JSON = 'not json';

export const pushBody = fc
  .record({
    repository: fc.constantFrom('acme/site', 'acme/größe 💾', 'a\u0000b'),
    note: fc.string({ maxLength: 40 }),
  })
  .map((value) => Buffer.from(JSON.stringify(value), 'utf8').toString('latin1'));
export const plainChunk = fc.record<Chunk>({ bytes: fc.integer({ min: 1, max: 30 }) });

const plainHeader = fc
  .tuple(fc.stringMatching(/^X-[A-Za-z]{1,10}$/), fc.stringMatching(/^[!-~]{1,20}$/))
  .map(([name, value]) => `${name}: ${value}`);

/** A change of the good request, and what it is answered then. */
const plainFault = fc.constantFrom<Partial<CleanRequest>>(
  ...[{ status: 202 }, { status: 202 }, { status: 202 }, { signature: 'bad', status: 401 } as const],
  ...[{ signature: 'none', status: 401 } as const, { target: '/in/acme/code/none', status: 404 }],
  ...[
    { target: '/', status: 404 },
    { method: 'PUT', status: 405 },
    { method: 'GET', status: 405 },
  ],
  ...[
    { target: '/in/paused/code/push', status: 503 },
    { target: '/in/retired/code/push', status: 410 },
  ],
  ...[
    { target: `HTTP://other:80${PUSH}`, status: 202 },
    { target: '/in/acme/code/acked', status: 201 },
  ],
  ...[
    { target: `${PUSH}?a=%zz`, status: 202 },
    { target: '/in/acme/code/%70ush', status: 202 },
  ],
  ...[
    { target: '/livez', method: 'GET', body: '', status: 200 },
    { body: NOT_JSON, status: 202 },
  ],
  ...[
    { target: `${SUBSCRIBE}a+token`, method: 'GET', status: 200 },
    { body: 'x'.repeat(BODY_LIMIT_BYTES + 1), status: 413 },
    { body: 'x'.repeat(70_000), status: 413 },
  ],
  ...[{ target: `${SUBSCRIBE}another`, method: 'GET', status: 403 }],
  ...[{ headers: ['Host: test', 'Content-Encoding: gzip'], status: 415 }],
  ...[{ headers: ['Host: test', 'Expect: 100-continue'], status: 202 }],
  ...[{ headers: ['Host: test', 'Connection: Upgrade', 'Upgrade: websocket'], status: 202 }],
);

export const cleanRequest: fc.Arbitrary<CleanRequest> = fc
  .record({
    body: pushBody,
    extra: fc.array(plainHeader, { maxLength: 3 }),
    fault: plainFault,
    delivery: fc.nat(1_000_000),
    framing: fc.oneof<fc.MaybeWeightedArbitrary<Framing>[]>(
      { weight: 2, arbitrary: fc.constant({ kind: 'length', off: 0 }) },
      fc.record({
        kind: fc.constant('chunked' as const),
        chunks: fc.array(plainChunk, { maxLength: 4 }),
        trailers: fc.constant([]),
      }),
    ),
  })
  .map(
    ({ extra, fault, ...rest }) =>
      ({
        ...{
          method: 'POST',
          target: PUSH,
          version: 'HTTP/1.1',
          signature: 'good',
          lineEnd: '\r\n',
          status: 202,
        },
        ...rest,
        headers: ['Host: test', ...extra],
        ...fault,
      }) as CleanRequest,
  );
