import { describe, expect, expectTypeOf, test } from 'vitest';
import { definePack, defineRoute } from '../../src/packs/define-pack.js';
import { signatures } from '../../src/packs/signatures.js';
import type { FlowEvent, Pack } from '../../src/packs/types.js';
import { thrownBy } from './requests.js';

const verify = signatures.github({ secret: 'secret' });
const materialize = () => ({ deliveries: [] });
const flow = () => {};
const least = { version: 1, verify, materialize, flow };

/** As a JavaScript author would call it. */
const define = definePack as (input: unknown) => Pack;
const faultsOf = (input: unknown): string[] => {
  const { code, message } = thrownBy(() => define(input));
  expect(code).toBe('invalid_pack');
  return message.split('; ');
};
const routeFaults = (route: object): string[] =>
  faultsOf({ name: 'crm', version: '1.0.0', routes: { events: { ...least, ...route } } });
const routeOf = (route: object) =>
  define({ name: 'crm', version: '1.0.0', routes: { events: { ...least, ...route } } }).routes.get('events')!;

describe('defaults', () => {
  test('every default is filled in', () => {
    const pack = definePack({ name: 'crm', version: '1.0.0', routes: { events: least } });
    expect(pack.name).toBe('crm');
    expect(pack.version).toBe('1.0.0');
    expect(pack.routes.get('events')).toEqual({
      name: 'events',
      version: 1,
      verify,
      ordering: 'source',
      coalesce: 'none',
      materialize,
      retry: { attempts: 8, baseMs: 1_000, maxMs: 300_000 },
      onDead: 'advance',
      onConflict: 'hold',
      maxBodyBytes: null,
      shed: 'last',
      ack: null,
      batchRead: null,
      flow,
    });
  });

  test('what is given stays', () => {
    const given = {
      ordering: 'strict',
      retry: { attempts: 3, baseMs: 5, maxMs: 50 },
      onDead: 'hold',
      onConflict: 'separate',
      maxBodyBytes: 1,
      shed: 'first',
      ack: { status: 200, body: '[accepted]', contentType: 'text/plain; charset=utf-8' },
      batchRead: () => 1,
    };
    expect(routeOf(given)).toMatchObject(given);
  });

  test('a retry bound that was left out gives way to the one that was given', () => {
    expect(routeOf({ retry: { maxMs: 200 } }).retry).toEqual({ attempts: 8, baseMs: 200, maxMs: 200 });
    expect(routeOf({ retry: { baseMs: 600_000 } }).retry).toEqual({
      attempts: 8,
      baseMs: 600_000,
      maxMs: 600_000,
    });
  });

  test('a pack is frozen, its map of routes too', () => {
    const pack = define({
      name: 'crm',
      version: '1.0.0',
      routes: { events: { ...least, ack: { status: 200, body: '', contentType: 'text/plain' } } },
    });
    const route = pack.routes.get('events')!;
    for (const part of [pack, route, route.retry, route.ack, route.verify, route.verify.methods]) {
      expect(Object.isFrozen(part)).toBe(true);
    }
    const map = pack.routes as Map<string, unknown>;
    for (const change of [() => map.set('x', route), () => map.delete('events'), () => map.clear()]) {
      expect(change).toThrow(TypeError);
    }
    expect([...pack.routes.keys()]).toEqual(['events']);
  });
});

describe('[pack] errors', () => {
  test('name every wrong field at once, by its path', () => {
    const faults = faultsOf({
      name: 'CRM',
      version: '1.0',
      author: 'x',
      routes: {
        events: {
          version: 0,
          verify: { name: 'mine' },
          ordering: 'random',
          materialize: 'no',
          retry: { attempts: 0, baseMs: 500, maxMs: 50, jitter: 1 },
          onDead: 'x',
          onConflict: 'x',
          maxBodyBytes: 0,
          ack: { status: 302, body: 1, contentType: 'text\r\nx' },
          batchRead: 1,
          flow: undefined,
          flwo: 1,
        },
      },
    });
    expect(faults.sort()).toEqual(
      [
        'name: must be 1 to 64 of a-z, 0-9, "-" and "_", starting with a letter or digit',
        'version: must be a semantic version, as 1.0.0',
        'author: is not a known field',
        'routes.events.version: must be an integer of at least 1',
        'routes.events.verify: must be a signature scheme, as signatures.github(…) returns',
        'routes.events.ordering: must be source, strict or none',
        'routes.events.materialize: must be a function',
        'routes.events.retry.attempts: must be an integer of at least 1',
        'routes.events.retry.maxMs: must be at least baseMs',
        'routes.events.retry.jitter: is not a known field',
        'routes.events.onDead: must be advance or hold',
        'routes.events.onConflict: must be hold or separate',
        'routes.events.maxBodyBytes: must be an integer of at least 1',
        'routes.events.ack.status: must be at most 299',
        'routes.events.ack.body: must be a string',
        'routes.events.ack.contentType: must be a media type, as text/plain',
        'routes.events.batchRead: must be a function',
        'routes.events.flow: must be a function',
        'routes.events.flwo: is not a known field',
      ].sort(),
    );
  });

  test('coalescing by source is refused as long as it is not built', () => {
    expect(routeFaults({ coalesce: 'latest_by_source' })).toEqual([
      'routes.events.coalesce: latest_by_source is not available in this version, use none',
    ]);
  });

  test.each([
    ['', false],
    ['a', true],
    ['0_-', true],
    ['-a', false],
    ['_a', false],
    ['A', false],
    ['a.b', false],
    ['a/b', false],
    ['a'.repeat(64), true],
    ['a'.repeat(65), false],
    ['a\n', false],
  ])('name %j of pack and route: %s', (name, good) => {
    const message = 'must be 1 to 64 of a-z, 0-9, "-" and "_", starting with a letter or digit';
    const asPack = { name, version: '1.0.0', routes: { events: least } };
    const asRoute = { name: 'crm', version: '1.0.0', routes: { [name]: least } };
    if (good) {
      expect(define(asPack).name).toBe(name);
      expect(define(asRoute).routes.get(name)?.name).toBe(name);
    } else {
      expect(faultsOf(asPack)).toEqual([`name: ${message}`]);
      expect(faultsOf(asRoute)).toEqual([`routes.${name}: ${message}`]);
    }
  });

  test.each([
    ['retry.attempts', { retry: { attempts: 1.5 } }],
    ['retry.attempts', { retry: { attempts: Number.NaN } }],
    ['retry.attempts', { retry: { attempts: 1_000_001 } }],
    ['retry.attempts', { retry: { attempts: '8' } }],
    ['retry.baseMs', { retry: { baseMs: 0 } }],
    ['retry.baseMs', { retry: { baseMs: 86_400_001 } }],
    ['retry.maxMs', { retry: { maxMs: Number.POSITIVE_INFINITY } }],
    ['retry.maxMs', { retry: { maxMs: 30 * 86_400_000 + 1 } }],
    ['retry', { retry: 8 }],
    ['ack.status', { ack: { status: 199, body: '', contentType: 'text/plain' } }],
    ['ack.status', { ack: { status: 200.5, body: '', contentType: 'text/plain' } }],
    ['ack.body', { ack: { status: 204, body: 'x', contentType: 'text/plain' } }],
    ['ack.contentType', { ack: { status: 200, body: '', contentType: 'text/plain\r\nx: y' } }],
    ['ack.contentType', { ack: { status: 200, body: '' } }],
    ['maxBodyBytes', { maxBodyBytes: 1.5 }],
    ['materialize', { materialize: async () => ({ deliveries: [] }) }],
    ['version', { version: 2 ** 31 }],
    ['verify', { verify: undefined }],
    ['verify', { verify: { ...verify, methods: [] } }],
  ])('routes.events.%s is refused: %o', (field, route) => {
    expect(routeFaults(route)).toEqual([expect.stringMatching(`^routes\\.events\\.${field}: must `)]);
  });

  describe('limits', () => {
    const limited = (limits: unknown) =>
      define({ name: 'crm', version: '1.0.0', limits, routes: { events: least } }).limits;

    test('there are none by default; what is given is filled in and frozen', () => {
      expect(limited(undefined)).toBeNull();
      const limits = limited({
        namespace: { rate: { count: 3, perMs: 1_000 } },
        source: { concurrency: 2 },
      });
      expect(limits).toEqual({
        pack: null,
        namespace: { rate: { count: 3, perMs: 1_000, burst: 1 }, concurrency: null },
        source: { rate: null, concurrency: 2 },
      });
      expect(
        [limits, limits!.namespace, limits!.namespace!.rate, limits!.source].every(Object.isFrozen),
      ).toBe(true);
    });

    test('every wrong one is named at once', () => {
      const wrong = {
        pack: {},
        namespace: { rate: { count: 0, perMs: 0.5 }, concurrency: 0 },
        source: { rate: { count: 2, perMs: 1_000, burst: 3 } },
        tenant: {},
      };
      expect(
        faultsOf({ name: 'crm', version: '1.0.0', limits: wrong, routes: { events: least } }).sort(),
      ).toEqual([
        'limits.namespace.concurrency: must be an integer of at least 1',
        'limits.namespace.rate.count: must be an integer of at least 1',
        'limits.namespace.rate.perMs: must be an integer of at least 1',
        'limits.pack: must have a rate, a concurrency, or both',
        'limits.source.rate.burst: must be at most count',
        'limits.tenant: is not a known field',
      ]);
    });
  });

  test('what is no pack at all', () => {
    for (const input of [undefined, null, 1, [], 'pack'])
      expect(faultsOf(input)[0]).toMatch(/^pack: must be/);
    expect(faultsOf({ name: 'crm', version: '1.0.0', routes: {} })).toEqual([
      'routes: must name at least one route',
    ]);
  });
});

describe('types', () => {
  const head = { name: 'crm', version: '1.0.0' } as const;
  const common = { version: 1, verify, materialize } as const;

  test('prefetched is what batchRead returns, parameters inferred', () => {
    definePack({
      ...head,
      routes: {
        events: {
          version: 1,
          verify,
          materialize: (receipt) => ({
            deliveries: [
              {
                key: receipt.header('x-id'),
                events: [{ type: 'a', sourceKey: 'b', queueClass: 'interactive' }],
              },
            ],
          }),
          batchRead: async (events, ctx) => {
            expectTypeOf(events).toEqualTypeOf<readonly FlowEvent[]>();
            expectTypeOf(ctx.signal).toEqualTypeOf<AbortSignal>();
            return new Map(events.map((event) => [event.id, 1]));
          },
          flow: async (event, ctx) => {
            expectTypeOf(event).toEqualTypeOf<FlowEvent>();
            expectTypeOf(ctx.prefetched).toEqualTypeOf<Map<string, number>>();
            expectTypeOf(ctx.skip).returns.toEqualTypeOf<never>();
          },
        },
      },
    });
  });

  test('each route of a pack has its own', () => {
    const one = { ...common, batchRead: async () => 1 };
    const two = { ...common, batchRead: () => 'x' };
    definePack({
      ...head,
      routes: {
        one: { ...one, flow: (_, ctx) => void expectTypeOf(ctx.prefetched).toBeNumber() },
        two: { ...two, flow: (_, ctx) => void expectTypeOf(ctx.prefetched).toBeString() },
        three: { ...common, flow: (_, ctx) => void expectTypeOf(ctx.prefetched).toBeUnknown() },
        four: defineRoute({
          ...common,
          batchRead: (events) => events.map((event) => event.id),
          flow: (_, ctx) => void expectTypeOf(ctx.prefetched).toEqualTypeOf<string[]>(),
        }),
        // TypeScript does not infer this one; unknown has to be narrowed, so nothing is promised falsely.
        five: {
          ...common,
          batchRead: (events) => events.length,
          flow: (_, ctx) => void expectTypeOf(ctx.prefetched).toBeUnknown(),
        },
      },
    });
  });

  test('wrong fields do not compile', () => {
    const route = { ...common, flow };
    // @ts-expect-error a typo in a field
    const typo = () => definePack({ ...head, routes: { events: { ...route, orderng: 'none' } } });
    // @ts-expect-error an ordering that does not exist
    const ordering = () => definePack({ ...head, routes: { events: { ...route, ordering: 'lane' } } });
    // @ts-expect-error a flow is required
    const flowless = () => definePack({ ...head, routes: { events: { ...common } } });
    const later = async () => materialize();
    // @ts-expect-error materialize is synchronous
    const async = () => definePack({ ...head, routes: { events: { ...route, materialize: later } } });
    for (const attempt of [typo, ordering, flowless, async]) {
      expect(thrownBy(attempt).code).toBe('invalid_pack');
    }
  });
});
