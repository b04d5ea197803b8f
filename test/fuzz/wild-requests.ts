import fc from 'fast-check';
import { BODY_LIMIT_BYTES } from '../support/push-route.js';
import { plainChunk, pushBody } from './clean-requests.js';
import { type Chunk, type DrawnRequest, type Framing, PUSH, SUBSCRIBE } from './http-request.js';

const HEADER_LIMIT_BYTES = 16_384;
const byte = fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code));
const bytes = (maxLength: number) => fc.string({ unit: byte, maxLength });
const long = (least: number, most: number) =>
  fc.integer({ min: least, max: most }).map((length) => 'x'.repeat(length));

const oddBody = fc.oneof(
  bytes(60),
  fc.constantFrom(
    '',
    '{}',
    'null',
    '[]',
    '{"repository":5}',
    '{"__proto__":{"repository":"x"}}',
    '{"repository"',
  ),
  fc.constantFrom(
    'payload=%7B%22repository%22%3A%22x%22%7D',
    '['.repeat(5_000),
    '{"type":"url_verification"}',
  ),
  long(BODY_LIMIT_BYTES - 2, BODY_LIMIT_BYTES + 2_000),
);

const method = fc.oneof(
  { weight: 20, arbitrary: fc.constant('POST') },
  {
    weight: 5,
    arbitrary: fc.constantFrom(
      ...['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'TRACE', 'CONNECT', 'PROPFIND', 'M-SEARCH'],
      ...['SOURCE', 'QUERY', 'PURGE', 'PRI', 'post', 'POST ', 'PO\0ST', 'X', '', '\u00ff'],
    ),
  },
);
const target = fc.oneof(
  { weight: 20, arbitrary: fc.constant(PUSH) },
  {
    weight: 10,
    arbitrary: fc.constantFrom(
      ...['/in/acme/code/meta', '/in/acme/code/slack', '/in/acme/code/mailgun', '/in/acme/code/graph'],
      ...['/in/acme/code/odd', '/in/acme/code/acked', '/in/paused/code/push', '/in/retired/code/push'],
      ...['/livez', '/readyz', '/', '*', '//', '/in', '/in/', '/in/acme/code/push/', '/in/acme/code//push'],
      ...['/in/acme/code/%70ush', '/in/acme/code/push%2F', '/in/acme/code/push%00', '/in/acme%2Fcode/push'],
      ...[
        '/in/acme/code/%',
        '/in/acme/code/%zz',
        '/in/acme/code/%C0%AF',
        '/in/acme/code/%ff',
        '/in/../in/acme',
      ],
      ...[
        '/in/./acme/code/push',
        '/in/acme/code/push#x',
        '/in/acme/code/push;a=b',
        '/in/__proto__/code/push',
      ],
      ...[`http://h${PUSH}`, `HTTPS://u:p@h:99${PUSH}?q`, 'http://', 'http://h', 'h:443', `//h${PUSH}`],
      ...[`${PUSH}?`, `${PUSH}??a=%zz&&`, `${SUBSCRIBE}a+token`, `${SUBSCRIBE}%`],
      ...['/in/acme/code/meta?hub.mode=subscribe&hub.verify_token=a+token&hub.challenge=%0d%0aX:1'],
      ...[
        '/in/acme/code/graph?validationToken=%0d%0a%00%ff',
        '/in/acme/code/p\u00fcsh',
        `${PUSH} x`,
        ` ${PUSH}`,
        '',
      ],
    ),
  },
  { weight: 1, arbitrary: long(HEADER_LIMIT_BYTES - 300, HEADER_LIMIT_BYTES + 200).map((x) => `/${x}`) },
  { weight: 1, arbitrary: bytes(20).map((x) => PUSH + x) },
);
const version = fc.oneof(
  { weight: 12, arbitrary: fc.constant('HTTP/1.1') },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      'HTTP/1.0',
      'HTTP/0.9',
      'HTTP/1.2',
      'HTTP/2.0',
      'HTTP/1.1 ',
      'http/1.1',
      'HTTP/1,1',
      '',
    ),
  },
);

const host = fc.oneof(
  { weight: 10, arbitrary: fc.constant(['Host: test']) },
  {
    weight: 2,
    arbitrary: fc.constantFrom<string[]>(
      ...[
        [],
        ['Host: a', 'Host: b'],
        ['Host: test', 'hOsT: test'],
        ['Host:'],
        ['Host : test'],
        ['Host: a b'],
      ],
    ),
  },
);
const oddHeader = fc.oneof(
  fc.constantFrom(
    ...[
      'Connection: close',
      'Connection: keep-alive',
      'Connection: upgrade',
      'Connection: x, close',
      'Connection:',
    ],
    ...[
      'Upgrade: websocket',
      'Upgrade: h2c',
      'HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA',
      'Expect: 100-continue',
    ],
    ...['Expect: 200-ok', 'Expect:', 'TE: trailers', 'Trailer: X-Late', 'Keep-Alive: timeout=1, max=1'],
    ...[
      'Content-Encoding: gzip',
      'Content-Encoding: identity',
      'Content-Encoding: br, gzip',
      'Content-Encoding:',
    ],
    ...[
      'Content-Type: application/json',
      'Content-Type: application/x-www-form-urlencoded',
      'Content-Type: ;;=',
    ],
    ...[
      'Content-Type: multipart/form-data; boundary=b',
      'Content-Type: multipart/form-data; boundary="',
      'Content-Type',
    ],
    ...['Transfer-Encoding: chunked', 'Transfer-Encoding: identity', 'Transfer-Encoding: gzip, chunked'],
    ...[
      'Transfer-Encoding: chunked, chunked',
      'Transfer-Encoding : chunked',
      'Transfer-Encoding: \x0bchunked',
    ],
    ...[
      'Transfer-Encoding:',
      'Content-Length: 0',
      'Content-Length: 5',
      'Content-Length: 5, 5',
      'Content-Length: +5',
    ],
    ...[
      'Content-Length: -1',
      'Content-Length: 0x5',
      'Content-Length: 5.0',
      'Content-Length:',
      'content-length: 1e1',
    ],
    ...['Content-Length: 18446744073709551616', 'Content-Length: 9007199254740993', 'Content-Length: \t5'],
    ...[
      'X-Forwarded-For: 203.0.113.9',
      'X-Forwarded-For: \x1b[31m',
      'Authorization: Basic !!',
      'Cookie: a=b; a',
    ],
    ...[
      'X-GitHub-Delivery:',
      'X-GitHub-Delivery: other',
      'X-Hub-Signature-256: sha256=',
      'X-Hub-Signature-256: x',
    ],
    ...['X-Slack-Signature: v0=00', 'X-Slack-Request-Timestamp: NaN', '__proto__: x', 'constructor: x'],
    ...['X-Folded: one\r\n two', 'X-Folded: one\r\n\ttwo', ' X-Leading: one', 'X-Nul: o\0ne', 'X-\0Nul: one'],
    ...[
      'X-Cr: o\rne',
      'X-Lf: o\nne',
      'X Space: one',
      'No-Colon',
      ':',
      ': empty',
      'X-High: \u00fc\u00ff',
      '\u00fc: x',
    ],
  ),
  fc.tuple(fc.stringMatching(/^[A-Za-z-]{1,12}$/), bytes(30)).map(([name, value]) => `${name}: ${value}`),
  long(HEADER_LIMIT_BYTES - 400, HEADER_LIMIT_BYTES + 100).map((x) => `X-Long: ${x}`),
  fc.integer({ min: 1, max: 2_000 }).map((times) => Array(times).fill('a:b').join('\r\n')),
);

const chunk = fc.record<Chunk>(
  {
    bytes: fc.integer({ min: 1, max: 30 }),
    size: fc.constantFrom(
      '',
      '0',
      '0x5',
      '5 ',
      ' 5',
      '+5',
      '-5',
      '5h',
      'ffffffffffffffff',
      '10000000000000000',
      '00005',
    ),
    extension: fc.oneof(
      fc.constantFrom(';a', ';a=b', ';a="b;c"', ';', ';\0', ';a=\r', ';a\n', ' ;a', ';a="', '\t'),
      long(1, 20_000).map((x) => `;${x}`),
    ),
    lineEnd: fc.constantFrom('\n', '\r', '\r\r\n', ''),
  },
  { requiredKeys: ['bytes'] },
);
const trailers = fc.array(
  fc.oneof(fc.constantFrom('X-Late: one', 'Content-Length: 3', 'Host: late'), oddHeader),
  {
    maxLength: 2,
  },
);
const framing = fc.oneof<fc.MaybeWeightedArbitrary<Framing>[]>(
  { weight: 8, arbitrary: fc.constant({ kind: 'length', off: 0 }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('length'), off: fc.constantFrom(-1, 1, -5, 5, 10_000, 1e9) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('chunked'),
      chunks: fc.array(chunk, { maxLength: 4 }),
      trailers,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('both'), chunks: fc.array(plainChunk, { maxLength: 3 }) }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'none' }) },
);

export const wildRequest: fc.Arbitrary<DrawnRequest> = fc
  .record({
    method,
    target,
    version,
    host,
    odd: fc.oneof(fc.constant([]), fc.array(oddHeader, { minLength: 1, maxLength: 2 })),
    body: fc.oneof({ weight: 3, arbitrary: pushBody }, { weight: 2, arbitrary: oddBody }),
    signature: fc.constantFrom<DrawnRequest['signature']>('good', 'good', 'good', 'bad', 'none'),
    delivery: fc.nat(2),
    framing,
    lineEnd: fc.oneof(
      { weight: 20, arbitrary: fc.constant('\r\n') },
      { weight: 1, arbitrary: fc.constantFrom('\n', '\r') },
    ),
  })
  .map(({ host: hosts, odd, ...rest }) => ({ ...rest, headers: [...hosts, ...odd] }));
