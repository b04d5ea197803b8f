import { describe, expect, test } from 'vitest';
import { workError } from '../../src/executor/work-error.js';
import { BrokenJson } from '../../src/packs/safe-json.js';

const message = (thrown: unknown): string => workError('flow_error', thrown).message;

const hostile = Object.defineProperty(new Error('x'), 'message', {
  get() {
    throw new Error('from the getter');
  },
});
const unreadable = new Proxy(
  {},
  {
    getPrototypeOf() {
      throw new Error('from the proxy');
    },
  },
);

describe('what was thrown, as it is stored', () => {
  test.each([
    ['nothing', undefined, 'undefined was thrown'],
    ['null', null, 'null was thrown'],
    ['a text', 'no such contact', 'no such contact'],
    ['a number', 42, 'number was thrown'],
    ['an object, whose fields may be payload', { email: 'a@b.example' }, 'object was thrown'],
    ['an error', new TypeError('boom'), 'TypeError: boom'],
    ['an error with a hostile getter', hostile, 'something was thrown that cannot be read'],
    ['a proxy that refuses', unreadable, 'something was thrown that cannot be read'],
  ])('%s', (_, thrown, expected) => {
    expect(workError('flow_error', thrown)).toEqual({ code: 'flow_error', message: expected });
  });

  test('names what an error was caused by, a few levels deep', () => {
    const cause = new Error('connect ECONNREFUSED', { cause: new Error('deeper') });
    expect(message(new TypeError('fetch failed', { cause }))).toBe(
      'TypeError: fetch failed, caused by Error: connect ECONNREFUSED, caused by Error: deeper',
    );
    const circular = new Error('round');
    circular.cause = circular;
    expect(message(circular).split('caused by')).toHaveLength(4);
  });

  test("does not keep the engine's quotation of what could not be parsed", () => {
    const thrown = (() => {
      try {
        return JSON.parse('{"secret": tok_live_1}');
      } catch (error) {
        return error;
      }
    })();
    expect(message(thrown)).toBe('SyntaxError: text could not be parsed');
    expect(message(new BrokenJson('not valid JSON at position 3'))).toBe(
      'BrokenJson: not valid JSON at position 3',
    );
  });

  test('is one bounded line of valid text', () => {
    const long = message(new Error(`${'x'.repeat(5_000_000)}`));
    expect(long.length).toBeLessThanOrEqual(2_000);
    expect(long.endsWith('…')).toBe(true);
    expect(message('a\u001b[31mred\r\nnext\u2028line\ud800')).toBe('a [31mred next line');
  });
});
