/**
 * Where the bytes of a body stand:
 *
 *   in the receipt (`Body`)                    no Event has them, or several have and share them
 *   in the Event that `BodyEventId` names      one Event has them, or several whose copies are small
 *
 * Shared: the receipt has both `Body` and `BodyEventId`, and each of its Events whose own payload is empty has the body.
 */
import type { Plan } from '../plan.js';
import { sharedBodies } from '../statements/reports.js';
import { ids, readList } from './batches.js';

interface PayloadRow {
  readonly EventId: string;
  readonly ReceiptId: string | null;
  readonly Payload: Uint8Array;
}

/** What each Event's payload is, by its id; a shared body is read once. */
export function* payloadsOf(rows: readonly PayloadRow[]): Plan<ReadonlyMap<string, Uint8Array>> {
  const without = rows.filter((row) => row.Payload.length === 0 && row.ReceiptId !== null);
  const receiptIds = [...new Set(without.map((row) => row.ReceiptId))];
  const found = yield* readList<{ ReceiptId: string; Body: Uint8Array }>(sharedBodies, ids(receiptIds));
  const bodies = new Map(found.map((row) => [row.ReceiptId, row.Body]));
  const bytes = ({ ReceiptId, Payload }: PayloadRow) =>
    (Payload.length === 0 && ReceiptId !== null ? bodies.get(ReceiptId) : undefined) ?? Payload;
  return new Map(rows.map((row) => [row.EventId, bytes(row)]));
}
