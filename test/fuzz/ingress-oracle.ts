import { createHmac } from 'node:crypto';
import { FIRST_LANE_ORDINAL } from '../../src/store/migrations/index.js';
import { SECRET } from '../support/push-route.js';
import { NOT_JSON } from './clean-requests.js';
import type { FuzzServer } from './fuzz-server.js';
import { parseAnswers, type WireAnswer } from './http-answers.js';
import type { Script } from './scripts.js';
import type { Exchange } from './wire-client.js';

/** What a healthy server over a healthy store may answer; a 503 only for the paused pack. */
const STATUSES: ReadonlySet<number> = new Set([
  200, 201, 202, 400, 401, 403, 404, 405, 408, 410, 413, 415, 431, 503,
]);

function demand(holds: boolean, message: string): asserts holds {
  if (!holds) throw new Error(message);
}

/** Reads a connection's answers and finds each of them well-formed. */
export function judgeAnswers({ received, orderly }: Exchange, bytes: string): readonly WireAnswer[] {
  const { answers, rest } = parseAnswers(received, bytes.includes('HEAD'));
  if (orderly) demand(rest === '', `an answer was cut: ${JSON.stringify(rest.slice(0, 300))}`);
  for (const answer of answers) judgeAnswer(answer);
  return answers;
}

function judgeAnswer({ status, headers, body }: WireAnswer): void {
  demand(STATUSES.has(status), `status ${status}: ${body.slice(0, 500)}`);
  if (status < 400) return;
  const type = headers.get('content-type');
  demand(type === 'application/problem+json', `${status} of type ${type}: ${body.slice(0, 500)}`);
  if (status === 405) demand(headers.has('allow'), '405 without Allow');
  if (body === '') return;
  const problem = JSON.parse(body) as Record<string, unknown>;
  const { title, code, detail } = problem;
  const texts = [problem.type, title, code, detail];
  demand(problem.status === status && texts.every((text) => typeof text === 'string'), `no problem: ${body}`);
  if (status !== 503) return;
  demand(code === 'paused', `503 ${String(code)} from a healthy server`);
  demand(/^([1-9]|[1-9]\d|1[01]\d|120)$/.test(headers.get('retry-after') ?? ''), '503 without Retry-After');
  demand(problem.reason === 'paused', `503 for the reason ${String(problem.reason)}`);
}

/**
 * Of requests that are in order every answer is known, up to one after which the connection closes. Behind them may come
 * what is no request: it may cost them their answers, and never gets them another one.
 */
export function judgeClean({ clean, tail, copies }: Script, answers: readonly WireAnswer[]): void {
  if (clean === null) return;
  const closing = answers.findIndex(({ headers }) => headers.get('connection') === 'close');
  const last = closing < 0 || closing >= clean.length ? clean.length : closing + 1;
  const seen = answers.slice(0, last).map(({ status }) => status);
  const expected = clean.slice(0, tail === '' ? last : seen.length).map(({ status }, place) =>
    // Of several that come at once, all but one are duplicates.
    status === 202 && copies > 1 && seen[place] === 200 ? 200 : status,
  );
  demand(seen.join() === expected.join(), `good requests were answered ${seen}, not ${expected}`);
  const more = answers.slice(seen.length).map(({ status }) => status);
  const mayBeMore = tail !== '' && last === clean.length && more.join() === '400';
  demand(more.length === 0 || mayBeMore, `there were more answers than requests: ${more}`);
}

/** The same delivery on several connections at once is stored once, and all are told of the one receipt. */
export function judgeCopies({ clean, copies }: Script, heard: readonly (readonly WireAnswer[])[]): void {
  if (clean === null || copies === 1) return;
  for (const [place, { status, body }] of clean.entries()) {
    const answers = heard.flatMap((answered) => answered[place] ?? []);
    if (status !== 202 || body === NOT_JSON || answers.length < copies) continue;
    const ids = new Set(answers.flatMap(receiptOf));
    const first = answers.filter((answer) => answer.status === 202).length;
    demand(ids.size === 1 && first === 1, `${copies} copies gave ${ids.size} receipts, ${first} of them new`);
  }
}

interface StoredRow {
  readonly ReceiptId: string;
  readonly Route: string;
}

/**
 * What is stored agrees with what was answered: a receipt for each 2xx, with bytes that carry their signature, and no
 * receipt that nobody was told of.
 */
export class StoreAudit {
  readonly #server: FuzzServer;
  readonly #known = new Set<string>();
  /** Receipts that may stand without an answer that names them: their senders left, or broke their connection. */
  #untold = 0;
  #since = 0;

  constructor(server: FuzzServer) {
    this.#server = server;
  }

  /**
   * @param untold how many receipts may be there that no answer names: those of senders who left, or whose answer was
   * still owed when the connection was closed behind what is no request (see ConnectionGuard).
   */
  async judge(answers: readonly WireAnswer[], untold: number): Promise<void> {
    const told = new Set(answers.flatMap(receiptOf));
    this.#untold += untold + answers.filter(({ status }) => status === 201).length;
    for (const id of told) await this.#judgeReceipt(id);
    for (const { ReceiptId } of this.#fresh()) {
      if (told.has(ReceiptId)) continue;
      this.#untold--;
      await this.#judgeReceipt(ReceiptId);
      demand(this.#untold >= 0, `receipt ${ReceiptId} was stored, and nobody was told`);
    }
  }

  #fresh(): readonly StoredRow[] {
    const sql = `SELECT ReceiptId, Route, CreatedDate FROM _System_ConnectorReceipt WHERE CreatedDate >= ?`;
    const rows = this.#server.rows<StoredRow & { readonly CreatedDate: number }>(sql, this.#since);
    const fresh = rows.filter(({ ReceiptId }) => !this.#known.has(ReceiptId));
    for (const { CreatedDate } of rows) this.#since = Math.max(this.#since, CreatedDate);
    return fresh;
  }

  async #judgeReceipt(id: string): Promise<void> {
    const receipt = await this.#server.store.loadReceipt(id);
    demand(receipt !== null, `receipt ${id} was acknowledged and is not stored`);
    this.#known.add(id);
    if (receipt.route !== 'push' && receipt.route !== 'acked') return;
    const digest = createHmac('sha256', SECRET).update(receipt.body).digest('hex');
    const signatures = receipt.headers.filter(([name]) => name.toLowerCase() === 'x-hub-signature-256');
    const signed = signatures.some(([, value]) => value.trim().toLowerCase() === `sha256=${digest}`);
    demand(signed, `receipt ${id} holds other bytes than were signed`);
  }

  /** Every Event has its receipt, its item and its key, and none of these stands alone. */
  judgeWhole(): void {
    for (const [what, sql] of HALVES) {
      const rows = this.#server.rows<{ readonly id: string }>(sql);
      demand(rows.length === 0, `${rows.length} ${what}: ${rows[0]?.id}`);
    }
  }
}

/** The route `acked` answers with words of its own, and 201. */
function receiptOf({ status, body }: WireAnswer): readonly string[] {
  if (status !== 200 && status !== 202) return [];
  if (!body.startsWith('{"receipt"')) return [];
  return [(JSON.parse(body) as { receipt: string }).receipt];
}

const HALVES = [
  [
    'Events without a receipt',
    `SELECT EventId AS id FROM _System_ConnectorEvent e
     WHERE NOT EXISTS (SELECT 1 FROM _System_ConnectorReceipt r WHERE r.ReceiptId = e.ReceiptId)`,
  ],
  [
    'Events without an item',
    `SELECT EventId AS id FROM _System_ConnectorEvent e
     WHERE NOT EXISTS (SELECT 1 FROM _System_ConnectorWorkItem w WHERE w.EventId = e.EventId)`,
  ],
  [
    'items without an Event',
    `SELECT WorkId AS id FROM _System_ConnectorWorkItem w
     WHERE NOT EXISTS (SELECT 1 FROM _System_ConnectorEvent e WHERE e.EventId = w.EventId)`,
  ],
  [
    'Events without a key',
    `SELECT EventId AS id FROM _System_ConnectorEvent e
     WHERE NOT EXISTS (SELECT 1 FROM _System_ConnectorIdempotency k WHERE k.IdempotencyKey = e.IdempotencyKey)`,
  ],
  [
    'keys of nothing',
    `SELECT hex(IdempotencyKey) AS id FROM _System_ConnectorIdempotency k
     WHERE NOT EXISTS (SELECT 1 FROM _System_ConnectorReceipt r WHERE r.ReceiptId = k.ReceiptId)
       OR (EventId IS NOT NULL AND NOT EXISTS (SELECT 1 FROM _System_ConnectorEvent e WHERE e.EventId = k.EventId))`,
  ],
  [
    'new items among those of history, which overtake',
    `SELECT WorkId AS id FROM _System_ConnectorWorkItem WHERE LaneOrdinal < ${FIRST_LANE_ORDINAL}`,
  ],
  [
    'receipts with more Events than they say',
    `SELECT ReceiptId AS id FROM _System_ConnectorReceipt r
     WHERE EventCount < (SELECT COUNT(*) FROM _System_ConnectorEvent e WHERE e.ReceiptId = r.ReceiptId)`,
  ],
] as const;
