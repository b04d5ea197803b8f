/**
 * Receipts become durable facts and work, in one transaction under the authority locks (MAT-1):
 *
 *   authority locked ─▶ keys ─▶ projections ─▶ Events ─▶ lane tails locked ─▶ WorkItems ─▶ receipts ─▶ ordinals
 *
 * Every table with a unique key goes through `insertConverging`, so that one conflict stays one row's conflict.
 * Fates of an entry: `new`; `known` (same key, same bytes: counted); `own` (this very request, whose COMMIT answer
 * was lost); a known key with other bytes is stored apart under a key of its own, pointing at the first.
 */
import { LaneheadError } from '../../core/errors.js';
import { isBodyShared } from '../../core/shared-body.js';
import { type Plan, read, write } from '../plan.js';
import * as authority from '../statements/authority.js';
import * as sql from '../statements/materialize.js';
import type {
  EventDraft,
  MaterializeRefusal,
  MaterializeRequest,
  MaterializeResult,
  ReceiptDraft,
} from '../store.js';
import { ids, writeList } from './batches.js';
import { type Authority, authorityOf, type Entry } from './materialize-entry.js';
import { insertEvents, settleKeys } from './materialize-events.js';
import { insertReceipts } from './materialize-receipts.js';
import { insertWorkItems } from './materialize-work.js';
import { noteEnded } from './tally.js';

export function* materialize(request: MaterializeRequest): Plan<MaterializeResult[] | MaterializeRefusal> {
  const locked = yield* lockAuthority(request);
  if ('refused' in locked) return locked;
  const entries = request.receipts.flatMap(entriesOf);
  yield* storeEntries(locked, entries);
  yield* insertReceipts(
    locked,
    request.receipts.filter((receipt) => isStored(receipt, entries)),
    entries,
  );
  yield* noteEnded(locked.endings);
  return request.receipts.map((receipt) => resultOf(receipt, entries));
}

/** Gives a quarantined receipt its Events after a fix; the receipt's row stays where it is. */
export function* rematerialize(request: MaterializeRequest): Plan<MaterializeResult[] | MaterializeRefusal> {
  const locked = yield* lockAuthority(request);
  if ('refused' in locked) return locked;
  for (const receipt of request.receipts) {
    const [row] = yield* read<{ QuarantinedDate: number | null }>(sql.lockReceipt, [receipt.receiptId]);
    if (row === undefined) throw new LaneheadError('not_found', `no receipt has id ${receipt.receiptId}`);
    if (row.QuarantinedDate === null) {
      throw new LaneheadError('invalid_argument', `receipt ${receipt.receiptId} is not in quarantine`);
    }
    if (receipt.quarantine !== null) {
      const { code, message } = receipt.quarantine;
      yield* write(sql.stayInQuarantine, [code, message, receipt.receiptId]);
    } else {
      const user = isBodyShared(receipt) ? receipt.events.find(({ payload }) => payload === null) : undefined;
      yield* write(sql.leaveQuarantine, [receipt.events.length, user?.eventId ?? null, receipt.receiptId]);
    }
  }
  const entries = request.receipts.filter((receipt) => receipt.quarantine === null).flatMap(eventEntriesOf);
  yield* storeEntries(locked, entries);
  yield* noteEnded(locked.endings);
  return request.receipts.map((receipt) => resultOf(receipt, entries));
}

function* lockAuthority(request: MaterializeRequest): Plan<Authority | MaterializeRefusal> {
  yield* read(authority.lockNamespace, [request.namespace]);
  const [row] = yield* read<authority.PackRow>(authority.lockPack, [request.packId]);
  if (row === undefined) throw new LaneheadError('not_found', `no installed pack has id ${request.packId}`);
  if (row.Status !== 'active') return { refused: row.Status === 'paused' ? 'paused' : 'retired' };
  return authorityOf(row);
}

function* storeEntries(locked: Authority, entries: Entry[]): Plan<void> {
  yield* settleKeys(locked, entries);
  yield* insertEvents(locked, entries);
  yield* insertWorkItems(locked, entries);
  const known = entries.filter((entry) => entry.fate === 'known').map((entry) => entry.key);
  yield* writeList(sql.countDuplicates, ids(known));
  yield* write(authority.advanceOrdinals, [locked.nextLaneOrdinal, locked.nextHistoryOrdinal, locked.packId]);
}

function entriesOf(receipt: ReceiptDraft): Entry[] {
  if (receipt.events.length > 0) return eventEntriesOf(receipt);
  return [newEntry(receipt, null, receipt.requestKey, receipt.bodyHash)];
}

function eventEntriesOf(receipt: ReceiptDraft): Entry[] {
  const bodyShared = isBodyShared(receipt);
  return receipt.events.map((event) => ({
    ...newEntry(receipt, event, event.idempotencyKey, event.contentHash),
    sharesBody: bodyShared && event.payload === null,
  }));
}

function newEntry(
  receipt: ReceiptDraft,
  event: EventDraft | null,
  key: Uint8Array,
  content: Uint8Array,
): Entry {
  return {
    receipt,
    route: receipt.route,
    event,
    key,
    contentHash: content,
    sharesBody: false,
    fate: 'new',
    receiptId: receipt.receiptId,
    eventId: event?.eventId ?? null,
    conflictOf: null,
    end: null,
    projection: null,
  };
}

const isStored = (receipt: ReceiptDraft, entries: readonly Entry[]): boolean =>
  entries.some((entry) => entry.receipt === receipt && entry.fate === 'new');

function resultOf(receipt: ReceiptDraft, entries: readonly Entry[]): MaterializeResult {
  const mine = entries.filter((entry) => entry.receipt === receipt);
  const duplicate = mine.length > 0 && mine.every((entry) => entry.fate === 'known');
  return {
    receiptId: duplicate ? mine[0]!.receiptId : receipt.receiptId,
    events: receipt.events.length,
    duplicate,
    conflict: mine.some((entry) => entry.conflictOf !== null),
    quarantined: receipt.quarantine !== null,
  };
}
