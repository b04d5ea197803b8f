import type { PackRow } from '../statements/authority.js';
import type { EventDraft, ReceiptDraft } from '../store.js';
import type { Ending } from './tally.js';

/** The authority rows of the transaction and the ordinals it hands out. */
export interface Authority {
  readonly packId: number;
  readonly generation: number;
  readonly nowMs: number;
  nextLaneOrdinal: number;
  nextHistoryOrdinal: number;
  /** Items of this commit that are over: born so, or replaced. */
  readonly endings: Ending[];
}

/** @param row of the pack, locked below its namespace */
export const authorityOf = (row: PackRow): Authority => ({
  packId: row.PackId,
  generation: row.Generation,
  nowMs: row.Now,
  nextLaneOrdinal: row.NextLaneOrdinal,
  nextHistoryOrdinal: row.NextHistoryOrdinal,
  endings: [],
});

/** What a WorkItem takes from its Event. */
export type WorkDraft = Pick<
  EventDraft,
  | 'workId'
  | 'sourceKey'
  | 'ordinal'
  | 'routeVersion'
  | 'queueClass'
  | 'laneKey'
  | 'deliveryLaneKey'
  | 'targetLaneKey'
  | 'projectionKey'
  | 'runAfter'
  | 'failureBudget'
  | 'onDead'
>;

/** An Event that is to be given its WorkItem. */
export interface WorkEntry {
  readonly route: string;
  readonly event: WorkDraft | null;
  key: Uint8Array;
  eventId: string | null;
  /** Set when its WorkItem is terminal from the start. */
  end: { readonly state: 'skipped' | 'coalesced'; readonly supersededBy: string | null } | null;
  projection: { readonly generation: number; readonly active: boolean } | null;
}

/** One Event to be (or one request without Events), and what became of it. */
export interface Entry extends WorkEntry {
  readonly receipt: ReceiptDraft;
  readonly event: EventDraft | null;
  readonly contentHash: Uint8Array;
  /** The receipt holds the body for this Event and others, which are stored without bytes. */
  readonly sharesBody: boolean;
  fate: 'new' | 'known' | 'own';
  /** Of the receipt and Event that stand for this entry in the end. */
  receiptId: string;
  /** The first Event of the same key, when this one has other bytes. */
  conflictOf: string | null;
}

/** A WorkItem about to be inserted. */
export interface NewItem<E extends WorkEntry = WorkEntry> {
  readonly entry: E;
  readonly ordinal: number;
  /** 0 blocked, 1 head but not due, 2 head and due: a hint. */
  readiness: 0 | 1 | 2;
}
