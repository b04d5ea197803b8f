import { describe, expect, test } from 'vitest';
import { ProcessWatch } from '../fuzz/process-watch.js';
import { draft } from './drafts.js';

const one = (event: object = {}) => ({
  deliveries: [{ key: 'd1', events: [{ type: 'push', sourceKey: 'repo', ...event }] }],
});
const faultOf = (output: unknown): string => draft(() => output).quarantine!.message;

describe('[bad input] output that cannot be read to its end, or not twice', () => {
  test('a list is as long as it may be, whatever it claims', () => {
    const claiming = (length: number) =>
      new Proxy([], { get: (_, name) => (name === 'length' ? length : {}) });
    expect(faultOf({ deliveries: claiming(2 ** 53) })).toBe('deliveries: more than 1000');
    expect(faultOf({ deliveries: [{ key: 'd', events: claiming(2 ** 53) }] })).toContain(
      'more than 1000 events',
    );
    expect(faultOf(one({ idempotencyKey: claiming(2 ** 53) }))).toMatch(/idempotencyKey: must be/);
  });

  test('a hole in a key is no text', () => {
    expect(faultOf(one({ idempotencyKey: Object.assign([], { 1: 'x' }) }))).toMatch(
      /idempotencyKey: must be/,
    );
  });

  test('a key has at most 100 parts', () => {
    expect(draft(() => one({ idempotencyKey: Array(100).fill('x') })).quarantine).toBeNull();
    expect(faultOf(one({ idempotencyKey: Array(101).fill('x') }))).toMatch(/at most 100 strings/);
  });

  test('a companion is left as soon as it is too long', () => {
    let reads = 0;
    const endless = new Proxy([], {
      get: (target, name) => {
        if (name === 'length') return 2_000_000;
        return typeof name === 'string' && /^\d+$/.test(name) ? ++reads : Reflect.get(target, name);
      },
    });
    expect(faultOf(one({ companion: endless }))).toContain('companion: exceeds 1048576 bytes');
    expect(reads).toBeLessThanOrEqual(1_048_577);
  });
});

describe('[bad input] a promise where a value should be', () => {
  const late = () => Promise.reject(new Error('late'));

  test('is no JSON, although JSON would say {}', () => {
    expect(faultOf(one({ companion: { a: [late()] } }))).toBe(
      'deliveries[0].events[0].companion: must be JSON',
    );
  });

  test.each([
    ['for the deliveries', () => ({ deliveries: late() })],
    ['for a delivery', () => ({ deliveries: [late()] })],
    ['for a payload', () => one({ payload: late() })],
    ['in an unknown field', () => one({ more: { deep: [late()] } })],
    [
      'beside what is nested without end',
      () => one({ payload: [late(), nested(20_000)], more: nested(20_000) }),
    ],
    ['beside a getter that throws', () => Object.assign(trapped(), { more: late() })],
    ['behind its own then', () => one({ payload: asyncThen() })],
  ])('%s: its rejection ends no process', async (_name, output) => {
    const watch = new ProcessWatch();
    try {
      expect(draft(output).quarantine).not.toBeNull();
      await watch.settle();
    } finally {
      watch.close();
    }
  });

  test('that is thrown ends no process either', async () => {
    const watch = new ProcessWatch();
    try {
      const { quarantine } = draft(() => {
        throw late();
      });
      expect(quarantine?.code).toBe('materialize_failed');
      await watch.settle();
    } finally {
      watch.close();
    }
  });

  const nested = (depth: number) => JSON.parse('['.repeat(depth) + ']'.repeat(depth)) as unknown;
  const trapped = () =>
    Object.defineProperty({}, 'deliveries', {
      enumerable: true,
      get() {
        throw new Error('trapped');
      },
    });
  // biome-ignore lint/suspicious/noThenProperty: stands for a promise
  const asyncThen = () => ({ then: late });
});
