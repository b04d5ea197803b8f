import type { OnDead, QueueClass, WorkItemState } from '../../core/work.js';
import { marks, reading, repeated, writing } from '../statement.js';
import { EVENT, REPLAY, WORK_ITEM } from './tables.js';

const MAX_ITEMS = 64;

export interface ParentEventRow {
  readonly EventId: string;
  readonly SourceKey: string;
  readonly DeliveryOrdinal: number;
  readonly ExecutionOwner: string;
  /** Set by a replayer that does not know WorkItems (RPL-2). */
  readonly ReplayedAt: number | null;
}

/** A current read, under which no older replayer can mark the Event. */
export const lockParentEvents = reading(
  'replay.lockParentEvents',
  (d, n) => `SELECT EventId, SourceKey, DeliveryOrdinal, ExecutionOwner, ReplayedAt FROM ${EVENT}
    WHERE EventId IN (${marks(n)}) ORDER BY EventId${d.forUpdate}`,
  // With the Events of the queued generations that the children may replace.
  2 * MAX_ITEMS,
);

/** Whoever waits to be the next generation of these projections; its Event is locked with the parents'. */
export const queuedEvents = reading(
  'replay.queuedEvents',
  (_, n) => `SELECT EventId FROM ${WORK_ITEM} WHERE ProjectionQueuedKey IN (${marks(n)})`,
  MAX_ITEMS,
);

export interface ParentItemRow {
  readonly WorkId: string;
  readonly EventId: string;
  readonly PackId: number;
  readonly WorkType: string;
  readonly Route: string;
  readonly RouteVersion: number;
  readonly QueueClass: QueueClass;
  readonly State: WorkItemState;
  readonly FailureBudget: number;
  readonly OnDead: OnDead;
  readonly LaneKey: string | null;
  readonly LaneOrdinal: number;
  readonly DeliveryLaneKey: string | null;
  readonly TargetLaneKey: string | null;
  readonly ProjectionKey: string | null;
  readonly ReplayedAt: number | null;
}

export const lockParentItems = reading(
  'replay.lockParentItems',
  (
    d,
    n,
  ) => `SELECT WorkId, EventId, PackId, WorkType, Route, RouteVersion, QueueClass, State, FailureBudget, OnDead,
      LaneKey, LaneOrdinal, DeliveryLaneKey, TargetLaneKey, ProjectionKey, ReplayedAt
    FROM ${WORK_ITEM} WHERE WorkId IN (${marks(n)}) ORDER BY WorkId${d.forUpdate}`,
  MAX_ITEMS,
);

/** RPL-1: the reservation, a CAS on the item alone. */
export const reserveReplays = writing(
  'replay.reserve',
  (d, n) => `UPDATE ${WORK_ITEM} SET ReplayedAt = ${d.now}
    WHERE WorkId IN (${marks(n)}) AND ReplayedAt IS NULL
      AND State IN ('completed', 'skipped', 'dead', 'coalesced')`,
  MAX_ITEMS,
);

/** An older version ended these: their Events carry the mark that an older replayer looks at. */
export const markEventsReplayed = writing(
  'replay.markEvents',
  (d, n) => `UPDATE ${EVENT} SET ReplayedAt = ${d.now}
    WHERE EventId IN (${marks(n)}) AND ReplayedAt IS NULL`,
  MAX_ITEMS,
);

/**
 * The same fact once more, copied inside the database: payload and companion may be large. One that stands for a body
 * in its receipt is fenced, because older binaries look for the payload in the Event. Parameters: id, key, parent.
 */
export const insertChildEvent = writing(
  'replay.insertChildEvent',
  (d) => `INSERT INTO ${EVENT}
    (EventId, PackId, ReceiptId, EventType, SourceKey, DeliveryKey, DeliveryOrdinal, Route, RouteVersion,
     IdempotencyKey, ContentHash, QueueClass, Origin, ParentId, ReceivedDate, CreatedDate, Status, ExecutionOwner,
     Companion, Payload)
    SELECT ?, e.PackId, e.ReceiptId, e.EventType, e.SourceKey, e.DeliveryKey, e.DeliveryOrdinal, e.Route,
      e.RouteVersion, ?, e.ContentHash, e.QueueClass, 'replay', e.EventId, e.ReceivedDate, ${d.now},
      CASE WHEN LENGTH(e.Payload) = 0 THEN 'skipped' ELSE 'pending' END,
      CASE WHEN LENGTH(e.Payload) = 0 THEN 'work_item' ELSE 'event' END,
      e.Companion, e.Payload
    FROM ${EVENT} e WHERE e.EventId = ?`,
);

export const insertReplays = writing(
  'replay.insert',
  (_, n) =>
    `INSERT INTO ${REPLAY} (ParentId, ChildId, ActionId, CreatedDate) VALUES ${repeated('(?, ?, ?, ?)', n)}`,
  MAX_ITEMS,
);

export const childOf = reading('replay.childOf', () => `SELECT ChildId FROM ${REPLAY} WHERE ParentId = ?`);
