import fc from 'fast-check';

/** A value that is made anew for every try, since some can be used once only, with the text that a person reads. */
export interface Made {
  readonly text: string;
  readonly make: () => unknown;
  /** Something in it may not be in order. */
  readonly isOdd: boolean;
}

export const odd = (text: string, make: () => unknown): Made => ({ text, make, isOdd: true });
const inOrder = (value: unknown): Made => ({ ...plain(value), isOdd: false });
const plain = (value: unknown): Made => odd(fc.stringify(value), () => value);

const later = (text: string, reject: boolean): Made =>
  odd(text, () => (reject ? Promise.reject(new Error('late')) : Promise.resolve({ deliveries: [] })));

/** An array that claims a length, and fails when somebody believes it. */
function claiming(length: number): Made {
  return odd(`an array that claims ${length} members`, () => {
    let reads = 0;
    return new Proxy([], {
      get(target, name, receiver) {
        if (name === 'length') return length;
        if (typeof name === 'string' && ++reads > 10_000) throw new Error('READ TOO OFTEN');
        return Reflect.get(target, name, receiver) as unknown;
      },
    });
  });
}

function trap(name: 'get' | 'ownKeys' | 'getPrototypeOf' | 'has' | 'getOwnPropertyDescriptor'): Made {
  return odd(`a proxy that throws at ${name}`, () => {
    const handler = {
      [name]: () => {
        throw new Error('trapped');
      },
    };
    return new Proxy({ key: 'd', events: [] }, handler);
  });
}

function cycle(): unknown {
  const value: { self?: unknown } = {};
  value.self = value;
  return value;
}

function revoked(target: object): unknown {
  const { proxy, revoke } = Proxy.revocable(target, {});
  revoke();
  return proxy;
}

function detached(): unknown {
  const bytes = new Uint8Array(8);
  structuredClone(bytes.buffer, { transfer: [bytes.buffer] });
  return bytes;
}

const nested = (depth: number): unknown => JSON.parse('['.repeat(depth) + ']'.repeat(depth)) as unknown;

const ODD: readonly Made[] = [
  ...[undefined, null, true, 0, -0, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 8.64e15, 8.64e15 + 2].map(
    plain,
  ),
  ...[2 ** 53, 1e300, '', ' ', '\0', '\ud800', 'a\udfff', '\u2028', '__proto__', 'constructor', {}, []].map(
    plain,
  ),
  odd('1n', () => 1n),
  odd('Symbol()', () => Symbol('odd')),
  odd('a function', () => () => 1),
  odd('a class', () => class Odd {}),
  odd('new Date(NaN)', () => new Date(Number.NaN)),
  odd('new Date(0)', () => new Date(0)),
  odd('a Date whose getTime throws', () =>
    Object.assign(new Date(0), {
      getTime: () => {
        throw new Error('no time');
      },
    }),
  ),
  odd('a Date whose getTime is a text', () => Object.assign(new Date(0), { getTime: () => '5' })),
  odd('new Map()', () => new Map([['type', 'x']])),
  odd('new Uint8Array(0)', () => new Uint8Array(0)),
  odd('new Uint8Array(3)', () => new Uint8Array(3)),
  odd('a detached Uint8Array', detached),
  odd('a Uint8Array of shared memory', () => new Uint8Array(new SharedArrayBuffer(4))),
  odd('new Uint16Array(2)', () => new Uint16Array(2)),
  odd('new ArrayBuffer(2)', () => new ArrayBuffer(2)),
  odd('a Buffer in a Proxy', () => new Proxy(Buffer.from('x'), {})),
  odd('new String("x")', () => Object('x')),
  odd('Object.create(null)', () => Object.create(null)),
  odd('an object of symbols', () => ({ [Symbol('a')]: 1 })),
  odd('a getter that throws', () => ({
    get key(): never {
      throw new Error('no key');
    },
    get type(): never {
      throw new Error('no type');
    },
  })),
  odd('an object whose toString throws', () => ({
    toString(): never {
      throw new Error('no text');
    },
  })),
  odd('an object whose toJSON throws', () => ({
    toJSON(): never {
      throw new Error('no JSON');
    },
  })),
  odd('an object whose toJSON is undefined', () => ({ toJSON: () => undefined })),
  odd('a cycle', cycle),
  odd('10,000 arrays in each other', () => nested(10_000)),
  odd('a revoked proxy', () => revoked({})),
  odd('a revoked array', () => revoked([])),
  ...(['get', 'ownKeys', 'getPrototypeOf', 'has', 'getOwnPropertyDescriptor'] as const).map(trap),
  ...[-1, 0.5, 1_001, 2 ** 32 - 1, 2 ** 53].map(claiming),
  odd('new Array(2 ** 32 - 1)', () => new Array(2 ** 32 - 1)),
  odd('an array with a hole', () => Object.assign([], { 1: 'x' })),
  odd('an array of 2,000 empty objects', () => Array(2_000).fill({})),
  odd('an array whose entries() lie', () => Object.assign(['x'], { entries: () => 5 })),
  odd('a text of 600 bytes', () => 'é'.repeat(300)),
  odd('a text of 2 MB', () => 'x'.repeat(2_000_000)),
  later('a promise', false),
  later('a promise that rejects', true),
  odd('an object with a promise that rejects', () => ({ a: Promise.reject(new Error('late')) })),
  odd('an array with a promise that rejects', () => [Promise.reject(new Error('late'))]),
  // biome-ignore-start lint/suspicious/noThenProperty: stand for promises
  odd('an async then', () => ({
    async then() {
      throw new Error('late');
    },
  })),
  odd('a then that throws', () => ({
    then() {
      throw new Error('at once');
    },
  })),
  odd('a getter of then that throws', () => ({
    get then(): never {
      throw new Error('no then');
    },
  })),
  // biome-ignore-end lint/suspicious/noThenProperty: see above
];

export const oddValue: fc.Arbitrary<Made> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...ODD) },
  { weight: 1, arbitrary: fc.string().map(plain) },
  { weight: 1, arbitrary: fc.jsonValue().map(plain) },
);

/** Mostly what is in order, and sometimes something else. */
export function mostly(good: fc.Arbitrary<Made>, weight = 50): fc.Arbitrary<Made> {
  return fc.oneof({ weight, arbitrary: good }, { weight: 1, arbitrary: oddValue });
}

/** One of these values, which are in order. */
export const oneOf = (...values: readonly unknown[]): fc.Arbitrary<Made> =>
  fc.constantFrom(...values.map(inOrder));

export const anyOf = (values: fc.Arbitrary<unknown>): fc.Arbitrary<Made> => values.map(inOrder);

/** An object of these fields; those whose value was not drawn are not there. */
export function objectOf(fields: Readonly<Record<string, fc.Arbitrary<Made>>>, required: readonly string[]) {
  return fc.record(fields, { requiredKeys: [...required] }).map((drawn): Made => {
    const entries = Object.entries(drawn as Record<string, Made>);
    const text = entries.map(([name, value]) => `${name}: ${value.text}`).join(', ');
    const make = () => Object.fromEntries(entries.map(([name, value]) => [name, value.make()]));
    return { text: `{ ${text} }`, make, isOdd: entries.some(([, value]) => value.isOdd) };
  });
}

export function arrayOf(members: fc.Arbitrary<Made>, maxLength: number): fc.Arbitrary<Made> {
  return fc.array(members, { maxLength }).map((drawn) => ({
    text: `[${drawn.map((member) => member.text).join(', ')}]`,
    make: () => drawn.map((member) => member.make()),
    isOdd: drawn.some((member) => member.isOdd),
  }));
}
