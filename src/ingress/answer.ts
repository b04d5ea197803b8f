import { ERRORS } from '../core/errors.js';
import type { MaterializeResult } from '../store/store.js';
import { type AdmissionDecision, REFUSAL_CODES, type RefusalCode } from './decision.js';

/** One HTTP answer, whole; neither transport adds to its meaning. */
export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

const NO_HEADERS = Object.freeze({});

export function answer(
  status: number,
  contentType: string,
  body: string,
  headers: Readonly<Record<string, string>> = NO_HEADERS,
): Answer {
  return { status, contentType, body: Buffer.from(body, 'utf8'), headers };
}

export const RETRY_REASONS = [
  'overloaded',
  'store_unavailable',
  'commit_deadline',
  'paused',
  'draining',
] as const;

type Reason = (typeof RETRY_REASONS)[number];

/** What a 503 tells the sender: why, in the closed set of the contract, and when to come back (seconds, 1–120). */
const UNAVAILABLE: Partial<Record<RefusalCode, { reason: Reason; retryAfterSeconds: number }>> = {
  /** Replaced by what was measured. */
  overloaded: { reason: 'overloaded', retryAfterSeconds: 2 },
  store_unavailable: { reason: 'store_unavailable', retryAfterSeconds: 10 },
  commit_deadline: { reason: 'commit_deadline', retryAfterSeconds: 10 },
  paused: { reason: 'paused', retryAfterSeconds: 60 },
  draining: { reason: 'draining', retryAfterSeconds: 5 },
  // Nothing was stored and a repeat is safe: to a sender that is a store which cannot take it now.
  internal: { reason: 'store_unavailable', retryAfterSeconds: 30 },
};

/** Why a sender is told to come again; `null`: it is not. */
export function retryReasonOf(decision: AdmissionDecision): Reason | null {
  return UNAVAILABLE[decision as RefusalCode]?.reason ?? null;
}

export const PROBLEM = 'application/problem+json';

/** A refusal by its code. The text is the table's: nothing a sender wrote is ever echoed. */
export function problem(code: RefusalCode, headers: Readonly<Record<string, string>> = NO_HEADERS): Answer {
  const ready = PROBLEMS.get(code)!;
  return headers === NO_HEADERS ? ready : { ...ready, headers: { ...ready.headers, ...headers } };
}

function build(code: RefusalCode): Answer {
  const { status, title, action } = ERRORS[code];
  const unavailable = UNAVAILABLE[code];
  const body = { type: `urn:lanehead:error:${code}`, title, status, code, detail: action };
  if (unavailable === undefined) return answer(status, PROBLEM, JSON.stringify(body));
  return answer(status, PROBLEM, JSON.stringify({ ...body, reason: unavailable.reason }), {
    'retry-after': String(unavailable.retryAfterSeconds),
  });
}

/** A refusal for overload. */
export function overloaded(retryAfterSeconds: number): Answer {
  let ready = OVERLOADED.get(retryAfterSeconds);
  if (ready === undefined) {
    ready = problem('overloaded', { 'retry-after': String(retryAfterSeconds) });
    OVERLOADED.set(retryAfterSeconds, ready);
  }
  return ready;
}

/** One for each second of 1 to 120. */
const OVERLOADED = new Map<number, Answer>();

/** Built once: a refusal under overload costs no more than a look-up. */
const PROBLEMS = new Map(REFUSAL_CODES.map((code) => [code, build(code)]));

/** The answer to a stored receipt: 202 when something new was stored, 200 for an exact duplicate. */
export function acknowledgement(result: MaterializeResult): Answer {
  const { receiptId, events, duplicate, conflict } = result;
  const body = JSON.stringify({ receipt: receiptId, events, duplicate, conflict });
  return answer(duplicate ? 200 : 202, 'application/json', body);
}
