import fc from 'fast-check';
import { NOW, NOW_SECONDS, type RequestInput } from '../packs/request-parts.js';
import { SCHEMES } from '../packs/signed-requests.js';

/** Noise that nobody signed, for every scheme; or a request that was signed, and then changed in one place. */
export type DrawnRequest =
  | { readonly kind: 'noise'; readonly request: RequestInput }
  | { readonly kind: 'signed'; readonly scheme: string; readonly body: string; readonly change: Change };

/** `place`: which header, and where in it. `later`: the clock of the receiver is off. */
export interface Change {
  readonly at:
    | 'nothing'
    | 'body'
    | 'character'
    | 'header gone'
    | 'header twice'
    | 'target'
    | 'clock'
    | 'secret';
  readonly place: number;
  readonly bytes: string;
}

const HEADERS = [
  ...['x-hub-signature-256', 'x-hub-signature', 'stripe-signature', 'webhook-id', 'webhook-timestamp'],
  ...['webhook-signature', 'x-signature', 'x-slack-signature', 'x-slack-request-timestamp', 'x-zm-signature'],
  ...['x-zm-request-timestamp', 'x-hubspot-signature-v3', 'x-hubspot-request-timestamp', 'authorization'],
  ...[
    'x-square-hmacsha256-signature',
    'x-shopify-hmac-sha256',
    'x-dropbox-signature',
    'content-type',
    '__proto__',
  ],
];
const hex = 'ab'.repeat(32);
const headerValue = fc.oneof(
  fc.constantFrom(
    ...[
      '',
      ' ',
      NOW_SECONDS,
      String(NOW),
      'NaN',
      '-1',
      '1e99',
      '9'.repeat(400),
      hex,
      `sha256=${hex}`,
      `sha1=${hex}`,
    ],
    ...[
      `v0=${hex}`,
      `t=${NOW_SECONDS},v1=${hex}`,
      `t=,v1=${hex},t=1`,
      `v1,${'A'.repeat(43)}=`,
      'v1,',
      ',,,===',
      'v1, v1,',
    ],
    ...[
      'Basic',
      'Basic ',
      'basic Og==',
      'Basic bGFuZWhlYWQ6',
      `Basic ${'A'.repeat(9_000)}`,
      'sha256=',
      'sha256=zz',
    ],
    ...[
      'multipart/form-data; boundary=b',
      'multipart/form-data; boundary=""',
      'multipart/form-data',
      ';',
      'a/b;;=',
    ],
    ...['application/x-www-form-urlencoded', 'application/json; charset=utf-16', 'APPLICATION/JSON'],
  ),
  fc.string({ maxLength: 40 }),
  fc.string({ unit: 'binary', maxLength: 40 }),
);
const part = '--b\r\nContent-Disposition: form-data; name="timestamp"\r\n\r\n1\r\n';
const body = fc.oneof(
  fc.uint8Array({ maxLength: 60 }),
  fc.json().map((text) => Buffer.from(text)),
  fc
    .constantFrom(
      ...[
        '',
        'null',
        '[]',
        '{"value":[]}',
        '{"value":[null,{"clientState":5}]}',
        '{"value":{"length":1}}',
        '{"signature":null}',
      ],
      ...[
        '{"signature":{"timestamp":{},"token":[],"signature":1}}',
        '{"type":"url_verification","challenge":{"toString":1}}',
      ],
      ...[
        '{"type":"url_verification"}',
        '{"event":"endpoint.url_validation","payload":{"plainToken":{"valueOf":null,"toString":null}}}',
      ],
      ...[
        '{"event":"endpoint.url_validation","payload":null}',
        '{"event":"endpoint.url_validation","payload":{"plainToken":"x"}}',
      ],
      ...[
        '{"__proto__":{"a":1},"constructor":{"prototype":{"a":1}}}',
        '['.repeat(20_000),
        '{"a":'.repeat(5_000),
        '\ufeff{}',
      ],
      ...[
        'payload=%7B%22a%22%3A1%7D',
        'payload=%',
        'payload',
        'timestamp=1&timestamp=2&token=t&signature=00',
        '%ff=%zz&&=&',
      ],
      ...[
        `${part}--b--`,
        `${part}--b`,
        '--b',
        '--b--',
        `--b\r\n\r\n${part}`,
        '\r\n--b'.repeat(2_000),
        part.repeat(500),
      ],
    )
    .map((text) => Buffer.from(text)),
);
const target = fc.oneof(
  fc.constantFrom(
    '/in/a/b/c',
    '/?validationToken=%00%ff',
    '/?hub.mode=subscribe&hub.verify_token=x&hub.challenge=1',
  ),
  fc.string({ unit: 'binary', maxLength: 20 }).map((text) => `/in?${text}`),
);
const noise: fc.Arbitrary<RequestInput> = fc.record({
  method: fc.constantFrom('POST', 'POST', 'POST', 'GET', 'PUT', ''),
  target,
  body,
  headers: fc.array(fc.tuple(fc.constantFrom(...HEADERS), headerValue), { maxLength: 5 }),
});

const change: fc.Arbitrary<Change> = fc.record({
  at: fc.constantFrom(
    'nothing',
    'body',
    'character',
    'header gone',
    'header twice',
    'target',
    'clock',
    'secret',
  ),
  place: fc.nat(10_000),
  bytes: fc.string({ minLength: 1, maxLength: 4 }),
});

/** What Slack and Zoom ask, with something else where a text should be. */
const handshake = fc
  .tuple(
    fc.oneof(fc.jsonValue(), fc.constantFrom({ toString: 1 }, { toString: null, valueOf: null }, [[]])),
    fc.constantFrom('url_verification', 'endpoint.url_validation'),
  )
  .map(([asked, name]) =>
    JSON.stringify({ type: name, event: name, challenge: asked, payload: { plainToken: asked } }),
  );

export const requests: fc.Arbitrary<DrawnRequest> = fc.oneof(
  fc.record({ kind: fc.constant('noise'), request: noise }),
  fc.record({
    kind: fc.constant('signed'),
    scheme: fc.constantFrom(...SCHEMES.map(({ name }) => name)),
    body: fc.oneof({ weight: 3, arbitrary: fc.json() }, handshake),
    change,
  }),
);
