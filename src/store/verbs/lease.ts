import type { Lease } from '../../core/work.js';
import type { Plan } from '../plan.js';
import * as sql from '../statements/claim.js';
import type { LoadedEvent, RenewResult } from '../store.js';
import { ids, readList, writeList } from './batches.js';
import { payloadsOf } from './payloads.js';

interface HeldRow {
  readonly WorkId: string;
  readonly LeaseToken: string;
  readonly OwnershipEpoch: number;
  readonly LeaseUntil: number;
}

/** Renews what is still held; a lease that was taken over is reported, never revived (OWN-5). */
export function* renew(leases: readonly Lease[], leaseMs: number): Plan<RenewResult> {
  const sorted = [...leases].sort((a, b) => (a.workId < b.workId ? -1 : 1));
  const members = sorted.map((lease) => [lease.workId, lease.token, lease.epoch]);
  yield* writeList(sql.keepLeases, members, (list) => [leaseMs, ...list]);
  const rows = yield* readList<HeldRow>(sql.heldLeases, ids(sorted.map((lease) => lease.workId)));
  const held = new Map(rows.map((row) => [row.WorkId, row]));
  const renewed: Lease[] = [];
  const lost: string[] = [];
  for (const lease of leases) {
    const row = held.get(lease.workId);
    const mine = row?.LeaseToken === lease.token && row.OwnershipEpoch === lease.epoch;
    if (mine) renewed.push({ ...lease, untilMs: row.LeaseUntil });
    else lost.push(lease.workId);
  }
  return { renewed, lost };
}

interface EventRow {
  readonly EventId: string;
  readonly ReceiptId: string | null;
  readonly EventType: string;
  readonly SourceKey: string;
  readonly DeliveryKey: string;
  readonly DeliveryOrdinal: number;
  readonly Route: string;
  readonly RouteVersion: number;
  readonly Payload: Uint8Array;
  readonly Companion: string | null;
  readonly ReceivedDate: number;
  readonly Origin: string;
  readonly ParentId: string | null;
  readonly Headers: string | null;
  readonly TraceContext: string | null;
}

/** Immutable input of the items just claimed, in the order asked (EXE-2). */
export function* loadEvents(eventIds: readonly string[]): Plan<(LoadedEvent | null)[]> {
  const rows = yield* readList<EventRow>(sql.loadEvents, ids([...new Set(eventIds)]));
  const payloads = yield* payloadsOf(rows);
  const loaded = new Map(rows.map((row) => [row.EventId, toLoadedEvent(row, payloads.get(row.EventId)!)]));
  return eventIds.map((eventId) => loaded.get(eventId) ?? null);
}

function toLoadedEvent(row: EventRow, payload: Uint8Array): LoadedEvent {
  return {
    eventId: row.EventId,
    receiptId: row.ReceiptId,
    type: row.EventType,
    sourceKey: row.SourceKey,
    deliveryKey: row.DeliveryKey,
    ordinal: row.DeliveryOrdinal,
    route: row.Route,
    routeVersion: row.RouteVersion,
    payload,
    headers: row.Headers === null ? [] : (JSON.parse(row.Headers) as [string, string][]),
    companion: row.Companion,
    receivedAt: row.ReceivedDate,
    origin: row.Origin as LoadedEvent['origin'],
    parentId: row.ParentId,
    traceContext: row.TraceContext,
  };
}
