import { idempotencyKey, type Scope, sha256 } from '../core/identity.js';
import type { NewId } from '../core/ids.js';
import type { WorkError } from '../core/outcome.js';
import type { ReceiptDraft } from '../store/store.js';
import { checkOutput, MAX_EVENTS } from './checked-output.js';
import { type DraftContext, draftEvent } from './event-draft.js';
import { InvalidOutput } from './field-check.js';
import { BrokenJson } from './safe-json.js';
import { dropPromises, isStrayPromise } from './thenable.js';
import type { Receipt, Route } from './types.js';

export interface DraftOptions {
  /** The receipt's own route, of the receipt's own pack. */
  readonly route: Route;
  readonly receipt: Receipt;
  readonly newId: NewId;
  /** The id it is stored under, when it is materialized again. Default: a new one. */
  readonly receiptId?: string;
  /** Events that one receipt may have. Default 1,000. */
  readonly maxEvents?: number;
}

/**
 * From a verified request to what is stored of it. Never throws for what `materialize` does: a receipt whose
 * `materialize` throws, or gives what is not in order, is quarantined with its bytes, to be materialized again after a
 * fix.
 */
export function draftReceipt({ route, receipt, newId, receiptId, maxEvents }: DraftOptions): ReceiptDraft {
  const scope: Scope = { namespace: receipt.namespace, pack: receipt.pack, route: route.name };
  // Taken before foreign code sees them: what is stored is what was signed (decision 9).
  const body = Buffer.from(receipt.body);
  const bodyHash = sha256(body);
  const request = {
    receiptId: receiptId ?? newId('rcp'),
    route: route.name,
    method: receipt.method,
    target: receipt.target,
    headers: receipt.headers.filter(([name]) => !CREDENTIALS.has(name.toLowerCase())),
    body,
    bodyHash,
    verification: receipt.verification,
    receivedAt: receipt.receivedAt,
    onConflict: route.onConflict,
  };
  const result = materialize({ scope, route, receipt, bodyHash, newId }, body, maxEvents ?? MAX_EVENTS);
  return {
    ...request,
    ...result,
    requestKey: idempotencyKey(scope, identityOf(request, result.quarantine !== null)),
  };
}

/**
 * What makes a request without Events the same as another one. Providers name an event in its headers or its target
 * as often as in its body, so all of it counts. A quarantined one equals none but itself: nobody can say yet which
 * Events it stands for, and those are told apart by their own keys once it is materialized.
 */
function identityOf(
  { receiptId, method, target, headers, bodyHash }: RequestIdentity,
  inQuarantine: boolean,
): readonly string[] {
  if (inQuarantine) return ['quarantine', receiptId];
  return ['request', method, target, JSON.stringify(headers), Buffer.from(bodyHash).toString('hex')];
}

type RequestIdentity = Pick<ReceiptDraft, 'receiptId' | 'method' | 'target' | 'headers' | 'bodyHash'>;

/** Headers that prove who someone is; they never reach the store. */
const CREDENTIALS: ReadonlySet<string> = new Set(['authorization', 'cookie', 'proxy-authorization']);

type Materialized = Pick<ReceiptDraft, 'events' | 'quarantine'>;

function materialize(context: DraftContext, signed: Buffer, maxEvents: number): Materialized {
  const { route, receipt } = context;
  let output: unknown;
  try {
    output = route.materialize(receipt);
    if (isStrayPromise(output))
      throw new InvalidOutput(['output: must not be a promise: materialize is synchronous']);
    if (!signed.equals(receipt.body)) throw new InvalidOutput(['receipt.body: must not be changed']);
    const events = checkOutput(output, receipt.body, maxEvents);
    return { events: events.map((event) => draftEvent(context, event)), quarantine: null };
  } catch (error) {
    dropPromises([output, error]);
    return { events: [], quarantine: workErrorOf(error) };
  }
}

const MAX_MESSAGE_CHARACTERS = 2_000;

/** Foreign code can throw what cannot even be looked at: a Proxy, or an Error whose message is a getter that throws. */
function workErrorOf(error: unknown): WorkError {
  try {
    if (error instanceof InvalidOutput)
      return { code: 'materialize_invalid', message: bounded(error.message) };
    return { code: 'materialize_failed', message: bounded(describe(error)) };
  } catch {
    return { code: 'materialize_failed', message: 'materialize threw something that cannot be read' };
  }
}

const bounded = (message: string): string => message.slice(0, MAX_MESSAGE_CHARACTERS);

/**
 * What was thrown, without the payload. The messages of a SyntaxError quote what could not be parsed, so only those
 * of this house's own parser, which quote nothing, are kept; a thrown value that is no Error may be anything.
 */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return 'materialize threw something that is not an Error';
  if (error instanceof SyntaxError && !(error instanceof BrokenJson))
    return 'SyntaxError: text could not be parsed';
  return `${String(error.name)}: ${String(error.message)}`;
}
