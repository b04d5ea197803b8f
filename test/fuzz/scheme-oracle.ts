import { isDeepStrictEqual } from 'node:util';
import { verifyRequest } from '../../src/packs/receipt.js';
import { BrokenJson } from '../../src/packs/safe-json.js';
import type { Receipt, SignatureScheme, Verification } from '../../src/packs/types.js';
import { NOW, type RequestInput, request, trusting } from '../packs/request-parts.js';
import { NEW, OLD, SCHEMES, type SchemeCase } from '../packs/signed-requests.js';
import type { Change, DrawnRequest } from './odd-requests.js';

/** These prove who sends, and nothing about the body. */
const BODY_IS_FREE: ReadonlySet<string> = new Set(['basic', 'mailgun', 'microsoft_graph']);
/** These answer a question of the sender without a signature. */
const UNSIGNED_HANDSHAKES: ReadonlySet<string> = new Set(['dropbox', 'microsoft_graph']);

const DISTRUSTING: readonly (SchemeCase & { readonly verifier: SignatureScheme })[] = SCHEMES.map(
  (scheme) => ({
    ...scheme,
    verifier: scheme.make(NEW),
  }),
);

function demand(holds: boolean, message: string): asserts holds {
  if (!holds) throw new Error(message);
}

/** @returns what to count. */
export async function judgeRequest(drawn: DrawnRequest): Promise<readonly string[]> {
  return drawn.kind === 'noise' ? judgeNoise(drawn.request) : [await judgeSigned(drawn)];
}

function judgeNoise(input: RequestInput): readonly string[] {
  readReceipt(input);
  return DISTRUSTING.map(({ name, verifier }) => {
    const { kind } = verdictOf(verifier, input);
    demand(kind !== 'verified', `${name} took noise for a signed request`);
    demand(kind !== 'handshake' || UNSIGNED_HANDSHAKES.has(name), `${name} shook hands with noise`);
    return `noise: ${kind}`;
  });
}

function verdictOf(scheme: SignatureScheme, input: RequestInput): Verification {
  const verdict = scheme.verify(request(input));
  const guarded = verifyRequest(scheme, request(input));
  demand(
    guarded.kind === verdict.kind,
    `verifyRequest says ${guarded.kind} where the scheme says ${verdict.kind}`,
  );
  if (verdict.kind === 'handshake') {
    const { status, body, contentType } = verdict.answer;
    const texts = typeof body === 'string' && typeof contentType === 'string';
    demand(texts && status === 200, `no answer: ${JSON.stringify(verdict.answer)}`);
  }
  if (verdict.kind === 'refused') {
    demand(verdict.status === 401 || verdict.status === 403, `refused with ${verdict.status}`);
    demand(/^[a-z_]+$/.test(verdict.reason), `no reason: ${verdict.reason}`);
  }
  return verdict;
}

/** Whatever the bytes are, a receipt gives them out, or says that they are no JSON. */
function readReceipt(input: RequestInput): void {
  const verified = verifyRequest(trusting, request(input));
  demand(verified.kind === 'verified', 'a scheme that trusts everybody refused');
  const { receipt } = verified;
  for (const [name] of receipt.headers) receipt.header(name);
  for (const read of [receipt.text(), receipt.form(), receipt.query]) String(read);
  const value = jsonOf(receipt);
  if (value === undefined) return;
  demand(isDeepStrictEqual(value, receipt.json()), 'two readings of one body differ');
  demand(!isPoisoned(value), 'a prototype came out of JSON');
}

function jsonOf(receipt: Receipt): unknown {
  try {
    return receipt.json();
  } catch (error) {
    demand(error instanceof BrokenJson, `json() threw ${String(error)}`);
    return undefined;
  }
}

function isPoisoned(root: unknown): boolean {
  const open = [root];
  for (let value = open.pop(); open.length > 0 || value !== undefined; value = open.pop()) {
    if (typeof value !== 'object' || value === null) continue;
    if (Object.hasOwn(value, '__proto__')) return true;
    const maker: unknown = Object.hasOwn(value, 'constructor') ? value.constructor : null;
    if (typeof maker === 'object' && maker !== null && Object.hasOwn(maker, 'prototype')) return true;
    open.push(...(Object.values(value) as unknown[]));
  }
  return false;
}

async function judgeSigned(drawn: DrawnRequest & { readonly kind: 'signed' }): Promise<string> {
  const { change } = drawn;
  const scheme = DISTRUSTING.find(({ name }) => name === drawn.scheme)!;
  const original = await scheme.sign(change.at === 'secret' ? OLD : NEW, scheme.body ?? drawn.body);
  const { input, name } = changed(original, change);
  const { kind } = verdictOf(scheme.verifier, input);
  const expected = expectedVerdict(scheme, change, name);
  // A handshake is signed as well.
  const seen = kind === 'handshake' ? 'verified' : kind;
  const where = `${change.at} (${name})`;
  demand(expected === null || seen === expected, `${scheme.name} says ${kind} after a change of ${where}`);
  return `signed, ${change.at}: ${kind}`;
}

/** `null`: either is right. */
function expectedVerdict(scheme: SchemeCase, { at }: Change, header: string): Verification['kind'] | null {
  switch (at) {
    case 'nothing':
    case 'target':
      return 'verified';
    case 'body':
      return BODY_IS_FREE.has(scheme.name) ? null : 'refused';
    case 'character':
    case 'header gone':
      return header.toLowerCase() === 'content-type' ? null : 'refused';
    case 'clock':
      return scheme.signAt === undefined ? 'verified' : 'refused';
    case 'header twice':
      return null;
    case 'secret':
      return 'refused';
  }
}

/** `name`: the header that the change may be in. */
function changed(
  original: RequestInput,
  { at, place, bytes }: Change,
): { input: RequestInput; name: string } {
  const headers = Object.entries((original.headers ?? {}) as Readonly<Record<string, string>>);
  const [name, value] = headers[place % headers.length] ?? ['content-type', ''];
  const others = headers.filter(([other]) => other !== name);
  return { name, input: { ...original, ...differences() } };

  function differences(): RequestInput {
    switch (at) {
      case 'body':
        return { body: Buffer.concat([Buffer.from(original.body ?? ''), Buffer.from(bytes)]) };
      case 'character':
        return { headers: [...others, [name, withOther(value, place)]] };
      case 'header gone':
        return { headers: others };
      case 'header twice':
        return { headers: [...headers, [name, bytes]] };
      case 'target':
        return { target: `/${bytes}` };
      case 'clock':
        return { receivedAt: NOW + (place % 2 === 0 ? 400_000 : -400_000) };
      default:
        return {};
    }
  }
}

/** In the first half, where no base64 has bits that count for nothing. */
function withOther(value: string, place: number): string {
  const at = place % Math.max(1, Math.floor(value.length / 2));
  const other = value[at] === '0' ? '1' : '0';
  return value.slice(0, at) + other + value.slice(at + 1);
}
