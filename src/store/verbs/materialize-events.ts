import { digestParts, sha256 } from '../../core/identity.js';
import { type Plan, read, write } from '../plan.js';
import * as sql from '../statements/materialize.js';
import { ids, readList } from './batches.js';
import { insertConverging } from './converge.js';
import type { Authority, Entry } from './materialize-entry.js';

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const equal = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;

// ── keys ─────────────────────────────────────────────────────────────────────────────────────────────────

/** Decides every entry's fate by its idempotency key; conflicts get a key of their own and are decided again. */
export function* settleKeys(locked: Authority, entries: readonly Entry[]): Plan<void> {
  const conflicts = yield* claimKeys(locked, entries);
  for (const entry of conflicts) setApart(entry);
  // A key derived from the content cannot meet other content: the second round has no conflicts.
  yield* claimKeys(locked, conflicts);
}

/** Stored apart and flagged; under `onConflict: 'hold'` it is not run either, and blocks nobody. */
function setApart(entry: Entry): void {
  entry.conflictOf = entry.eventId ?? entry.receiptId;
  entry.key = digestParts(['conflict', entry.key, entry.contentHash]);
  entry.fate = 'new';
  entry.receiptId = entry.receipt.receiptId;
  entry.eventId = entry.event?.eventId ?? null;
  if (entry.receipt.onConflict === 'hold') entry.end = { state: 'skipped', supersededBy: null };
}

function* claimKeys(locked: Authority, entries: readonly Entry[]): Plan<Entry[]> {
  const first = new Map<string, Entry>();
  for (const entry of entries) if (!first.has(hex(entry.key))) first.set(hex(entry.key), entry);
  const winners = yield* insertConverging<Entry, sql.KeyRow>(
    { statement: sql.insertKeys, row: (entry) => keyRow(locked, entry), current: currentKeys },
    [...first.values()],
  );
  const conflicts: Entry[] = [];
  for (const entry of entries) {
    const claimant = first.get(hex(entry.key))!;
    const winner = winners.get(claimant);
    if (winner === undefined && claimant === entry) continue;
    const holder = winner ?? {
      ContentHash: claimant.contentHash,
      ReceiptId: claimant.receipt.receiptId,
      EventId: claimant.event?.eventId ?? null,
    };
    const ours = winner !== undefined && winner.ReceiptId === entry.receipt.receiptId;
    entry.receiptId = holder.ReceiptId;
    entry.eventId = holder.EventId;
    if (!equal(holder.ContentHash, entry.contentHash)) conflicts.push(entry);
    else entry.fate = ours ? 'own' : 'known';
  }
  return conflicts;
}

function* currentKeys(entries: readonly Entry[]): Plan<Map<Entry, sql.KeyRow>> {
  const rows = yield* readList<sql.KeyRow>(sql.currentKeys, ids(sortedKeys(entries)));
  return byKey(entries, rows);
}

function keyRow(locked: Authority, entry: Entry) {
  const { nowMs, packId } = locked;
  const eventId = entry.event?.eventId ?? null;
  return [entry.key, packId, entry.contentHash, entry.receipt.receiptId, eventId, nowMs, nowMs];
}

// ── events ───────────────────────────────────────────────────────────────────────────────────────────────

/** Inserts the new Events. One that an older writer stored without a key row is found by its own unique key. */
export function* insertEvents(locked: Authority, entries: readonly Entry[]): Plan<void> {
  const fresh = entries.filter((entry) => entry.fate === 'new' && entry.event !== null);
  const apart: Entry[] = [];
  for (const [entry, row] of yield* putEvents(locked, fresh)) {
    entry.eventId = row.EventId;
    entry.receiptId = row.ReceiptId ?? entry.receiptId;
    yield* write(sql.pointKeyAt, [row.EventId, entry.receiptId, entry.key]);
    if (yield* sameContent(entry, row)) entry.fate = 'known';
    else apart.push(entry);
  }
  yield* storeApart(locked, apart);
}

/** Keeps entries whose key is taken by something else beside it, each as an Event of its own. */
export function* storeApart(locked: Authority, entries: readonly Entry[]): Plan<void> {
  if (entries.length === 0) return;
  for (const entry of entries) setApart(entry);
  yield* claimKeys(locked, entries);
  yield* putEvents(
    locked,
    entries.filter((entry) => entry.fate === 'new'),
  );
}

function* putEvents(locked: Authority, entries: readonly Entry[]): Plan<Map<Entry, sql.EventIdentityRow>> {
  return yield* insertConverging<Entry, sql.EventIdentityRow>(
    { statement: sql.insertEvents, row: (entry) => eventRow(locked, entry), current: currentEvents },
    entries,
  );
}

function* currentEvents(entries: readonly Entry[]): Plan<Map<Entry, sql.EventIdentityRow>> {
  const rows = yield* readList<sql.EventIdentityRow>(sql.currentEvents, ids(sortedKeys(entries)));
  return byKey(entries, rows);
}

function* sameContent(entry: Entry, row: sql.EventIdentityRow): Plan<boolean> {
  if (row.ContentHash !== null) return equal(row.ContentHash, entry.contentHash);
  // Rows of older writers carry no content hash: the payload decides.
  const [stored] = yield* read<{ Payload: Uint8Array }>(sql.selectPayload, [row.EventId]);
  return stored !== undefined && equal(sha256(stored.Payload), sha256(payloadOf(entry)));
}

const payloadOf = (entry: Entry): Uint8Array => entry.event!.payload ?? entry.receipt.body;

const NO_BYTES = Buffer.alloc(0);

function eventRow(locked: Authority, entry: Entry) {
  const event = entry.event!;
  const receipt = entry.receipt;
  // Older binaries look for the payload in the Event: one without it is never theirs to run.
  const fenced = entry.end !== null || entry.sharesBody;
  return [
    event.eventId,
    locked.packId,
    receipt.receiptId,
    event.type,
    event.sourceKey,
    event.deliveryKey,
    event.ordinal,
    receipt.route,
    event.routeVersion,
    entry.key,
    entry.contentHash,
    event.queueClass,
    entry.conflictOf,
    receipt.receivedAt,
    locked.nowMs,
    fenced ? 'skipped' : 'pending',
    fenced ? 'work_item' : 'event',
    event.companion,
    entry.sharesBody ? NO_BYTES : payloadOf(entry),
  ];
}

// ── both ─────────────────────────────────────────────────────────────────────────────────────────────────

/** Sorted, as every locking read and every multi-row change is: equal order means no deadlock. */
const sortedKeys = (entries: readonly Entry[]): Uint8Array[] =>
  entries.map((entry) => entry.key).sort(Buffer.compare);

function byKey<R extends { readonly IdempotencyKey: Uint8Array }>(
  entries: readonly Entry[],
  rows: readonly R[],
): Map<Entry, R> {
  const found = new Map(rows.map((row) => [hex(row.IdempotencyKey), row]));
  const result = new Map<Entry, R>();
  for (const entry of entries) {
    const row = found.get(hex(entry.key));
    if (row !== undefined) result.set(entry, row);
  }
  return result;
}
