import fc from 'fast-check';
import { type CleanRequest, cleanRequest } from './clean-requests.js';
import { type DrawnRequest, serialize } from './http-request.js';
import { wildRequest } from './wild-requests.js';

/** What one connection does. */
export interface Script {
  /** In order, and only these: each answer is known. */
  readonly clean: readonly CleanRequest[] | null;
  /** Bytes behind them that are no request. */
  readonly tail: string;
  readonly requests: readonly DrawnRequest[];
  readonly mutations: readonly Mutation[];
  /** Where the bytes are cut into pieces that arrive one after the other, as parts of the whole. */
  readonly cuts: readonly number[];
  readonly pauseMs: number;
  /** Connections that do the same at the same time. */
  readonly copies: number;
  /** `leave`: without waiting for an answer; `reset`: with a RST. */
  readonly ending: 'half close' | 'leave' | 'reset';
}

interface Mutation {
  readonly kind: 'insert' | 'delete' | 'replace' | 'repeat';
  /** As a part of the whole. */
  readonly at: number;
  readonly length: number;
  readonly bytes: string;
}

const part = fc.double({ min: 0, max: 1, noNaN: true });
const mutation: fc.Arbitrary<Mutation> = fc.record({
  kind: fc.constantFrom('insert', 'delete', 'replace', 'repeat'),
  at: part,
  length: fc.integer({ min: 1, max: 12 }),
  bytes: fc.oneof(
    fc.constantFrom(
      '\r\n',
      '\n',
      '\r',
      '\0',
      ' ',
      ':',
      '\r\n\r\n',
      '0\r\n\r\n',
      'GET / HTTP/1.1\r\n',
      '%',
      ',',
      '\t',
      '\x7f',
    ),
    fc.string({
      unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)),
      maxLength: 8,
    }),
  ),
});

const pacing = {
  cuts: fc.oneof(
    { weight: 6, arbitrary: fc.array(part, { maxLength: 4 }) },
    fc.array(part, { maxLength: 40 }),
  ),
  pauseMs: fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, fc.integer({ min: 1, max: 4 })),
  copies: fc.oneof({ weight: 4, arbitrary: fc.constant(1) }, fc.integer({ min: 2, max: 4 })),
};

const wild = fc.record<Script>({
  clean: fc.constant(null),
  tail: fc.constant(''),
  requests: fc.array(wildRequest, { minLength: 1, maxLength: 3 }),
  mutations: fc.oneof(
    { weight: 2, arbitrary: fc.constant([]) },
    fc.array(mutation, { minLength: 1, maxLength: 2 }),
  ),
  ending: fc.oneof(
    { weight: 8, arbitrary: fc.constant('half close') },
    { weight: 2, arbitrary: fc.constantFrom('leave', 'reset') },
  ) as fc.Arbitrary<Script['ending']>,
  ...pacing,
});

const tail = fc.oneof(
  fc.constant(''),
  fc.constantFrom(
    'GARBAGE\r\n\r\n',
    '\0',
    'POST',
    'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n',
    'GET / HTTP/9.9\r\n\r\n',
  ),
  fc.string({ minLength: 1, maxLength: 12 }),
);

const clean = fc
  .record({
    tail,
    requests: fc.uniqueArray(cleanRequest, {
      minLength: 1,
      maxLength: 5,
      selector: ({ delivery }) => delivery,
    }),
    ...pacing,
  })
  .map(
    ({ requests, ...rest }): Script => ({
      ...rest,
      clean: requests,
      requests,
      mutations: [],
      ending: 'half close',
    }),
  );

export const script: fc.Arbitrary<Script> = fc.oneof(
  { weight: 4, arbitrary: wild },
  { weight: 1, arbitrary: clean },
);

/** The bytes of a script, in the pieces in which they are sent. */
export function piecesOf({ requests, tail, mutations, cuts }: Script, name: string): readonly string[] {
  let text = requests.map((request) => serialize(request, name)).join('') + tail;
  for (const { kind, at, length, bytes } of mutations) {
    const place = Math.floor(at * text.length);
    const [before, piece, after] = [
      text.slice(0, place),
      text.slice(place, place + length),
      text.slice(place + length),
    ];
    if (kind === 'insert') text = before + bytes + piece + after;
    else if (kind === 'delete') text = before + after;
    else if (kind === 'replace') text = before + bytes + after;
    else text = before + piece + piece + after;
  }
  const places = [...cuts.map((cut) => Math.floor(cut * text.length)), text.length].sort((a, b) => a - b);
  return places.map((place, i) => text.slice(places[i - 1] ?? 0, place)).filter((piece) => piece !== '');
}

/** For people: what was sent, piece by piece, and how it ended. */
export function describeScript(script: Script, name: string): string {
  const sent = piecesOf(script, name).map((piece) => {
    const shown =
      piece.length > 4_000 ? `${piece.slice(0, 2_000)}…${piece.length} bytes…${piece.slice(-500)}` : piece;
    return `  ${JSON.stringify(shown)}`;
  });
  const manner = `${script.ending}, ${script.pauseMs} ms between pieces, on ${script.copies} connections at once`;
  return [...sent, `  ${manner}`].join('\n');
}
