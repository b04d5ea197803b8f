import { describe, expect, test } from 'vitest';
import { idempotencyKey, sha256, sourceLaneKey } from '../../src/core/identity.js';
import { draft } from './drafts.js';
import { NOW, SCOPE } from './request-parts.js';

const one = (event: object = {}) => ({
  deliveries: [{ key: 'd1', events: [{ type: 'push', sourceKey: 'repo', ...event }] }],
});
const faultsOf = (output: unknown, options = {}): string[] => {
  const { quarantine, events } = draft(() => output, {}, options);
  expect(quarantine?.code).toBe('materialize_invalid');
  expect(events).toEqual([]);
  return quarantine!.message.split('; ');
};
const faultOf = (event: object): string[] => faultsOf(one(event));

describe('a draft', () => {
  test('holds the request and its events, whole', () => {
    const body = Buffer.from('{"a":1}');
    const request = {
      body,
      target: '/in/a/b/c?d',
      headers: [
        ['X-A', '1'],
        ['x-a', '2'],
      ] as const,
    };
    const result = draft(() => one({ queueClass: 'interactive' }), request, {
      onConflict: 'separate',
      onDead: 'hold',
      retry: { attempts: 3 },
      version: 7,
    });
    expect(result).toEqual({
      receiptId: 'rcp_1',
      route: 'events',
      method: 'POST',
      target: '/in/a/b/c?d',
      headers: [
        ['X-A', '1'],
        ['x-a', '2'],
      ],
      body,
      bodyHash: sha256(body),
      verification: 'trusting',
      receivedAt: NOW,
      onConflict: 'separate',
      quarantine: null,
      requestKey: idempotencyKey(SCOPE, [
        ...['request', 'POST', '/in/a/b/c?d', '[["X-A","1"],["x-a","2"]]'],
        sha256(body).toString('hex'),
      ]),
      events: [
        {
          eventId: 'evt_2',
          workId: 'wrk_3',
          type: 'push',
          sourceKey: 'repo',
          deliveryKey: 'd1',
          ordinal: 0,
          routeVersion: 7,
          queueClass: 'interactive',
          idempotencyKey: idempotencyKey(SCOPE, ['event', 'delivery', 'd1', '0']),
          contentHash: expect.any(Buffer),
          payload: null,
          companion: null,
          laneKey: sourceLaneKey(SCOPE, 'repo'),
          deliveryLaneKey: null,
          targetLaneKey: null,
          projectionKey: null,
          runAfter: null,
          failureBudget: 3,
          onDead: 'hold',
        },
      ],
    });
    expect(result.events[0]!.contentHash).toHaveLength(32);
  });

  test('keeps the order of deliveries and of the events in each', () => {
    const event = (sourceKey: string) => ({ type: 't', sourceKey });
    const deliveries = [
      { key: 'd1', events: [event('a'), event('b')] },
      { key: 'd2', events: [] },
      { key: 'd3', events: [event('c')] },
    ];
    const { events } = draft(() => ({ deliveries }));
    expect(events.map((e) => [e.deliveryKey, e.ordinal, e.sourceKey])).toEqual([
      ['d1', 0, 'a'],
      ['d1', 1, 'b'],
      ['d3', 0, 'c'],
    ]);
  });

  test('without events is fine: a ping has a receipt and no Event', () => {
    for (const deliveries of [[], [{ key: 'd1', events: [] }]]) {
      expect(draft(() => ({ deliveries }))).toMatchObject({ events: [], quarantine: null });
    }
  });

  test('keeps the id it is given, for a receipt that is materialized again', () => {
    expect(draft(() => one(), {}, { draft: { receiptId: 'rcp_old' } }).receiptId).toBe('rcp_old');
  });

  test('never holds credentials, in whatever case their headers came', () => {
    const headers = [
      ['Authorization', 'Basic c2VjcmV0'],
      ['COOKIE', 'session=1'],
      ['proxy-Authorization', 'x'],
      ['x-authorization-hint', 'kept'],
      ['authorization', 'again'],
    ] as const;
    let seen: string | undefined;
    const result = draft(
      (receipt) => {
        seen = receipt.header('authorization');
        return one();
      },
      { headers },
    );
    expect(seen).toBe('Basic c2VjcmV0, again');
    expect(result.headers).toEqual([['x-authorization-hint', 'kept']]);
  });
});

describe('[bad input] a materialize that fails quarantines the receipt with its bytes', () => {
  const quarantineOf = (materialize: () => unknown) => {
    const result = draft(materialize);
    expect(result.events).toEqual([]);
    expect(Buffer.from(result.body).toString()).toBe('{"a":1}');
    expect(result.requestKey).toHaveLength(32);
    return result.quarantine!;
  };
  const throwing = (error: unknown) =>
    quarantineOf(() => {
      throw error;
    });

  test('signed but broken JSON', () => {
    const result = draft((receipt) => one({ type: String(receipt.json()) }), { body: '{"card":"4242' });
    expect(result.quarantine).toEqual({
      code: 'materialize_failed',
      message: expect.stringMatching(/^BrokenJson: not valid JSON at position \d+$/),
    });
    expect(Buffer.from(result.body).toString()).toBe('{"card":"4242');
    const missing = draft((receipt) => one({ type: (receipt.json() as { a: { b: string } }).a.b }), {
      body: '{}',
    });
    expect(missing.quarantine?.message).toMatch(/^TypeError: Cannot read properties of undefined/);
  });

  test('errors say what happened, without the payload and at a bounded length', () => {
    expect(throwing(new RangeError('no such topic'))).toEqual({
      code: 'materialize_failed',
      message: 'RangeError: no such topic',
    });
    expect(throwing(new Error('x'.repeat(5_000))).message).toHaveLength(2_000);
    for (const parse of [() => JSON.parse('{"card":4242x}'), () => BigInt('card 4242')]) {
      expect(quarantineOf(parse).message).toBe('SyntaxError: text could not be parsed');
    }
    for (const value of ['card 4242', { card: 4242 }, null, undefined]) {
      expect(throwing(value)).toEqual({
        code: 'materialize_failed',
        message: 'materialize threw something that is not an Error',
      });
    }
  });

  test('[ADM-1] whatever is thrown, it can be stored', () => {
    const symbol = Object.assign(new Error('x'), { name: Symbol('s') });
    expect(throwing(symbol).message).toBe('Symbol(s): x');
    const getter = Object.defineProperty(new Error('x'), 'message', {
      get() {
        throw new Error('getter');
      },
    });
    const trapped = () => {
      throw new Error('trap');
    };
    const proxy = new Proxy({}, { getPrototypeOf: trapped, get: trapped });
    for (const nasty of [getter, proxy]) {
      expect(throwing(nasty)).toEqual({
        code: 'materialize_failed',
        message: 'materialize threw something that cannot be read',
      });
    }
  });

  test('a promise is not awaited, and its rejection harms nobody', () => {
    for (const promise of [Promise.resolve(one()), Promise.reject(new Error('late'))]) {
      expect(faultsOf(promise)).toEqual(['output: must not be a promise: materialize is synchronous']);
    }
    const handlers: unknown[] = [];
    // biome-ignore lint/suspicious/noThenProperty: stands for a promise, to see that its rejection is taken
    faultsOf({ then: (...given: unknown[]) => handlers.push(...given) });
    expect(handlers.slice(0, 2)).toEqual([undefined, expect.any(Function)]);
  });
});

describe('[bad input] output that is not in order quarantines the receipt and names the fields', () => {
  test.each([undefined, null, 1, 'x', [], () => {}])('output %o', (output) => {
    expect(faultsOf(output)[0]).toBe('output: must be an object');
  });

  test('every wrong field is named at once', () => {
    const deliveries = [
      { key: undefined, events: [{ type: '', sourceKey: 5, queueClass: 'urgent' }] },
      { key: 'd2', events: 'none' },
      {
        key: '  ',
        events: [{ type: 'a', sourceKey: 'b', runAfter: 'soon', payload: 7, companion: () => 1 }],
      },
      null,
    ];
    expect(faultsOf({ deliveries })).toEqual([
      'deliveries[0].key: must be a string that is not empty',
      'deliveries[0].events[0].type: must be a string that is not empty',
      'deliveries[0].events[0].sourceKey: must be a string that is not empty',
      'deliveries[0].events[0].queueClass: must be one of interactive, default, bulk',
      'deliveries[1].events: must be an array',
      'deliveries[2].key: must be a string that is not empty',
      'deliveries[2].events[0].payload: must be a Uint8Array or a string',
      'deliveries[2].events[0].companion: must be JSON',
      'deliveries[2].events[0].runAfter: must be a valid Date or epoch milliseconds',
      'deliveries[3]: must be an object',
      'deliveries[3].key: must be a string that is not empty',
      'deliveries[3].events: must be an array',
    ]);
  });

  test('fields that are not known are counted, not quoted', () => {
    const fields =
      'type, sourceKey, queueClass, idempotencyKey, payload, companion, targetKey, projectionKey, runAfter';
    expect(faultOf({ sourcekey: 'x', 'card 4242': 1 })).toEqual([
      `deliveries[0].events[0]: has 2 unknown field(s), known are ${fields}`,
    ]);
    expect(faultsOf({ deliveries: [], extra: 1 }).join()).toContain('output: has 1 unknown field(s)');
    expect(faultsOf({ deliveries: [{ key: 'a', events: [], event: 1 }] }).join()).toContain(
      'deliveries[0]: has 1 unknown field(s)',
    );
  });

  test.each([
    ['type', 128],
    ['sourceKey', 512],
    ['targetKey', 512],
    ['projectionKey', 512],
  ])('%s holds at most %i bytes, not characters', (field, most) => {
    expect(draft(() => one({ [field]: 'é'.repeat(most / 2) })).quarantine).toBeNull();
    expect(faultOf({ [field]: `${'é'.repeat(most / 2)}x` })).toEqual([
      `deliveries[0].events[0].${field}: exceeds ${most} bytes`,
    ]);
    expect(faultOf({ [field]: ' ' })).toEqual([
      `deliveries[0].events[0].${field}: must be a string that is not empty`,
    ]);
    expect(faultOf({ [field]: 'a\ud800' })).toEqual([
      `deliveries[0].events[0].${field}: must be well-formed Unicode`,
    ]);
  });

  test('a delivery key holds at most 512 bytes', () => {
    const delivery = (key: unknown) => ({ deliveries: [{ key, events: [] }] });
    expect(draft(() => delivery('k'.repeat(512))).quarantine).toBeNull();
    expect(faultsOf(delivery('k'.repeat(513)))).toEqual(['deliveries[0].key: exceeds 512 bytes']);
    expect(faultsOf(delivery(5))).toEqual(['deliveries[0].key: must be a string that is not empty']);
    expect(faultsOf(delivery('\udfff'))).toEqual(['deliveries[0].key: must be well-formed Unicode']);
  });

  test.each([[''], [[]], [['', '']], [5], [['a', 5]], [[undefined]], ['\ud800'], [null]])(
    'idempotencyKey %o',
    (idempotencyKey) => {
      expect(faultOf({ idempotencyKey })).toEqual([
        expect.stringMatching(/^deliveries\[0\]\.events\[0\]\.idempotencyKey: must be/),
      ]);
    },
  );

  test('[ADM-1] a payload whose bytes were transferred away is no payload', () => {
    const payload = new Uint8Array(8);
    structuredClone(payload.buffer, { transfer: [payload.buffer] });
    expect(faultOf({ payload })).toEqual([
      'deliveries[0].events[0].payload: is detached: its buffer was transferred away',
    ]);
    expect(draft(() => one({ payload: new Uint8Array(0) })).quarantine).toBeNull();
  });

  test('[ADM-1] the bytes that were signed are stored, whatever materialize does to them, then or later', () => {
    const body = Buffer.from('{"a":1}');
    const changed = draft(
      (receipt) => {
        receipt.body.fill(0x41);
        return one();
      },
      { body: Buffer.from(body) },
    );
    expect(changed.quarantine).toEqual({
      code: 'materialize_invalid',
      message: 'receipt.body: must not be changed',
    });
    expect(Buffer.from(changed.body)).toEqual(body);

    const kept: Uint8Array[] = [];
    const payload = Buffer.from('own');
    const later = draft(
      (receipt) => {
        kept.push(receipt.body, payload);
        return one({ payload });
      },
      { body: Buffer.from(body) },
    );
    for (const bytes of kept) bytes.fill(0x41);
    expect(Buffer.from(later.body)).toEqual(body);
    expect(later.events[0]!.payload).toEqual(Buffer.from('own'));
  });

  test('a companion holds at most 1 MiB of JSON, and must be JSON', () => {
    const fits = 'é'.repeat((1_048_576 - 2) / 2);
    expect(draft(() => one({ companion: fits })).quarantine).toBeNull();
    expect(faultOf({ companion: `${fits}x` })).toEqual([
      'deliveries[0].events[0].companion: exceeds 1048576 bytes',
    ]);
    const cycle: { self?: unknown } = {};
    cycle.self = cycle;
    const deep = JSON.parse('['.repeat(100_000) + ']'.repeat(100_000)) as unknown;
    for (const companion of [cycle, 1n, Symbol('x'), deep]) {
      expect(faultOf({ companion })).toEqual(['deliveries[0].events[0].companion: must be JSON']);
    }
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY, -1, '5', new Date('never'), 8.64e15 + 1, null])(
    'runAfter %o',
    (runAfter) => {
      expect(faultOf({ runAfter })).toEqual([
        'deliveries[0].events[0].runAfter: must be a valid Date or epoch milliseconds',
      ]);
    },
  );

  test('at most 1,000 events, over all deliveries', () => {
    const event = { type: 't', sourceKey: 's' };
    const deliveries = (count: number) =>
      ['a', 'b'].map((key, i) => ({ key, events: Array(i === 0 ? 600 : count - 600).fill(event) }));
    expect(draft(() => ({ deliveries: deliveries(1_000) })).events).toHaveLength(1_000);
    expect(faultsOf({ deliveries: deliveries(1_001) })).toEqual(['deliveries: more than 1000 events']);
    expect(faultsOf(one({}), { draft: { maxEvents: 0 } })).toEqual(['deliveries: more than 0 events']);
  });

  test('what events bring besides the body is bounded, together', () => {
    const events = (size: number) => ({
      deliveries: [
        { key: 'd', events: Array(8).fill({ type: 't', sourceKey: 's', payload: Buffer.alloc(size) }) },
      ],
    });
    expect(draft(() => events(1_048_576)).events).toHaveLength(8);
    expect(faultsOf(events(1_048_577))).toEqual(['deliveries: payloads and companions exceed 8388608 bytes']);
  });

  test('a getter that throws is a failure like any other', () => {
    const output = {
      get deliveries(): never {
        throw new Error('boom');
      },
    };
    expect(draft(() => output).quarantine).toEqual({ code: 'materialize_failed', message: 'Error: boom' });
  });
});
