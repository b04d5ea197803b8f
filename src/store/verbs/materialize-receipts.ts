import type { Plan } from '../plan.js';
import * as sql from '../statements/materialize.js';
import type { ReceiptDraft } from '../store.js';
import { insertList } from './batches.js';
import type { Authority, Entry } from './materialize-entry.js';

/** Stores the requests that brought something new. A body is not written twice: see `payloadsOf`. */
export function* insertReceipts(
  locked: Authority,
  receipts: readonly ReceiptDraft[],
  entries: readonly Entry[],
): Plan<void> {
  // Ids are ours and random: no unique key can refuse one, so there is nothing to converge on.
  yield* insertList(
    sql.insertReceipts,
    receipts.map((receipt) => receiptRow(locked, receipt, entries)),
  );
  yield* insertList(
    sql.insertTraces,
    receipts.flatMap(({ receiptId, traceContext = null }) =>
      traceContext === null ? [] : [[receiptId, traceContext]],
    ),
  );
}

function receiptRow(locked: Authority, receipt: ReceiptDraft, entries: readonly Entry[]) {
  const carrier = entries.find(
    (entry) => entry.receipt === receipt && entry.fate === 'new' && entry.event?.payload === null,
  );
  return [
    receipt.receiptId,
    locked.packId,
    receipt.route,
    receipt.method,
    receipt.target,
    JSON.stringify(receipt.headers),
    carrier === undefined || carrier.sharesBody ? receipt.body : null,
    carrier?.eventId ?? null,
    receipt.bodyHash,
    receipt.body.length,
    receipt.verification,
    receipt.events.length,
    receipt.quarantine === null ? null : locked.nowMs,
    receipt.quarantine?.code ?? null,
    receipt.quarantine?.message ?? null,
    receipt.receivedAt,
    locked.nowMs,
  ];
}
