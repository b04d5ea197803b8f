/**
 * What a transaction changed, told by triggers while it runs: one note for each row and statement, in order. The
 * notes of a transaction that rolls back are thrown away.
 */
import type Database from 'better-sqlite3';
import type { QueueClass } from '../../src/core/work.js';
import { EVENT, RECEIPT, WORK_ITEM } from '../../src/store/statements/tables.js';

const FIXED = {
  WorkId: 'workId',
  PackId: 'packId',
  EventId: 'eventId',
  QueueClass: 'queueClass',
  Route: 'route',
  RouteVersion: 'routeVersion',
  FailureBudget: 'budget',
  OnDead: 'onDead',
  LaneKey: 'sourceLane',
  DeliveryLaneKey: 'deliveryLane',
  TargetLaneKey: 'targetLane',
  LaneOrdinal: 'ordinal',
  DeliveryOrdinal: 'deliveryOrdinal',
  ProjectionKey: 'projection',
} as const;

const CHANGING = {
  State: 'state',
  Readiness: 'readiness',
  RunAfter: 'runAfter',
  LeaseUntil: 'leaseUntil',
  LeaseToken: 'token',
  LeaseHolder: 'holder',
  OwnershipEpoch: 'epoch',
  Attempt: 'attempt',
  Failures: 'failures',
  Generation: 'generation',
  ProjectionActiveKey: 'activeKey',
  SupersededBy: 'supersededBy',
  ReplayedAt: 'replayedAt',
  LastErrorCode: 'errorCode',
} as const;

/** Columns that no statement may change once the row is there. */
const ITEM_IMMUTABLE = [...Object.keys(FIXED), 'WorkType', 'IdempotencyKey'];
const EVENT_IMMUTABLE = 'PackId ReceiptId EventType SourceKey DeliveryKey DeliveryOrdinal Route RouteVersion'
  .concat(' IdempotencyKey ContentHash QueueClass ReceivedDate CreatedDate Companion Payload ParentId')
  .split(' ');
const EVENT_EXECUTOR =
  'Attempt NextRetryDate ClaimToken ClaimedBy ClaimedDate ProcessedDate ReplayedAt'.split(' ');

export interface ItemState {
  readonly state: string;
  readonly readiness: number;
  readonly runAfter: number;
  readonly leaseUntil: number | null;
  readonly token: string | null;
  readonly holder: string | null;
  readonly epoch: number;
  readonly attempt: number;
  readonly failures: number;
  readonly generation: number;
  readonly activeKey: string | null;
  readonly supersededBy: string | null;
  readonly replayedAt: number | null;
  readonly errorCode: string | null;
}

export interface ItemIdentity {
  readonly workId: string;
  readonly packId: number;
  readonly eventId: string;
  readonly queueClass: QueueClass;
  readonly route: string;
  readonly routeVersion: number;
  readonly budget: number;
  readonly onDead: string;
  readonly sourceLane: string | null;
  readonly deliveryLane: string | null;
  readonly targetLane: string | null;
  readonly ordinal: number;
  readonly deliveryOrdinal: number;
  readonly projection: string | null;
}

/** `at`: by the database's clock. */
export type RowNote =
  | {
      readonly kind: 'item in';
      readonly at: number;
      readonly identity: ItemIdentity;
      readonly state: ItemState;
    }
  | { readonly kind: 'item'; readonly at: number; readonly workId: string; readonly state: ItemState }
  | {
      readonly kind: 'event in';
      readonly eventId: string;
      readonly receiptId: string;
      readonly item: string;
      readonly source: string;
      /** What it is a replay of. */
      readonly parentId: string | null;
      readonly owner: string;
      /** A known key with other bytes. */
      readonly conflict: boolean;
    }
  | { readonly kind: 'event'; readonly eventId: string; readonly owner: string }
  | { readonly kind: 'receipt in'; readonly receiptId: string; readonly quarantined: boolean }
  | { readonly kind: 'mutated'; readonly table: string; readonly id: string };

type Columns = Readonly<Record<string, string>>;
const picked = (columns: readonly string[], of: string): string =>
  columns.map((name) => `${of}.${name}`).join(', ');
const changed = (columns: readonly string[]): string =>
  columns.map((name) => `NEW.${name} IS NOT OLD.${name}`).join(' OR ');

function record<T>(columns: Columns, values: readonly unknown[], from: number): T {
  const names = Object.values(columns);
  return Object.fromEntries(names.map((name, place) => [name, values[from + place]])) as T;
}

const trigger = (db: Database.Database, name: string, on: string, call: string, when = ''): void => {
  db.exec(`CREATE TRIGGER ${name} AFTER ${on} FOR EACH ROW ${when} BEGIN SELECT ${call}; END`);
};

/** Sets the triggers up once for a connection. `item`: the name under which its sender knows a payload. */
export function watchRows(
  db: Database.Database,
  now: () => number,
  item: (payload: Uint8Array) => string,
  tell: (note: RowNote) => void,
): void {
  const define = (name: string, body: (...values: never[]) => void): void => {
    db.function(name, { varargs: true, deterministic: false }, (...values: unknown[]) => {
      body(...(values as never[]));
      return null;
    });
  };
  const fixed = Object.keys(FIXED);
  const changing = Object.keys(CHANGING);
  define('sim_item_in', (...values: unknown[]) => {
    const state = record<ItemState>(CHANGING, values, fixed.length);
    tell({ kind: 'item in', at: now(), identity: record<ItemIdentity>(FIXED, values, 0), state });
  });
  define('sim_item', (workId: string, ...values: unknown[]) => {
    tell({ kind: 'item', at: now(), workId, state: record<ItemState>(CHANGING, values, 0) });
  });
  define('sim_event_in', (...values: unknown[]) => {
    const [eventId, receiptId, payload, source, owner, conflict, parentId] = values as [
      string,
      string,
      Uint8Array,
      string,
      string,
      number,
      string | null,
    ];
    const facts = {
      eventId,
      receiptId,
      item: item(payload),
      source,
      owner,
      parentId,
      conflict: conflict === 1,
    };
    tell({ kind: 'event in', ...facts });
  });
  define('sim_event', (eventId: string, owner: string) => tell({ kind: 'event', eventId, owner }));
  define('sim_receipt_in', (receiptId: string, quarantined: number) => {
    tell({ kind: 'receipt in', receiptId, quarantined: quarantined === 1 });
  });
  define('sim_mutated', (table: string, id: string) => tell({ kind: 'mutated', table, id }));

  const owner = (of: string): string => `${of}.ExecutionOwner || '/' || ${of}.Status`;
  trigger(
    db,
    'SimItemIn',
    `INSERT ON ${WORK_ITEM}`,
    `sim_item_in(${picked([...fixed, ...changing], 'NEW')})`,
  );
  trigger(db, 'SimItem', `UPDATE ON ${WORK_ITEM}`, `sim_item(NEW.WorkId, ${picked(changing, 'NEW')})`);
  const event = `sim_event_in(NEW.EventId, NEW.ReceiptId, NEW.Payload, NEW.SourceKey, ${owner('NEW')}, NEW.ConflictOf IS NOT NULL, NEW.ParentId)`;
  trigger(db, 'SimEventIn', `INSERT ON ${EVENT}`, event);
  trigger(db, 'SimEvent', `UPDATE ON ${EVENT}`, `sim_event(NEW.EventId, ${owner('NEW')})`);
  const receipt = 'sim_receipt_in(NEW.ReceiptId, NEW.QuarantinedDate IS NOT NULL)';
  trigger(db, 'SimReceiptIn', `INSERT ON ${RECEIPT}`, receipt);
  const itemMutated = `WHEN ${changed(ITEM_IMMUTABLE)}`;
  trigger(db, 'SimItemSame', `UPDATE ON ${WORK_ITEM}`, `sim_mutated('WorkItem', OLD.WorkId)`, itemMutated);
  const eventMutated = `WHEN ${changed([...EVENT_IMMUTABLE, ...EVENT_EXECUTOR])}`;
  trigger(db, 'SimEventSame', `UPDATE ON ${EVENT}`, `sim_mutated('Event', OLD.EventId)`, eventMutated);
}
