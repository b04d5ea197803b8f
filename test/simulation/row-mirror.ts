/** The rows as they are committed, kept beside the database from its notes; what the rules look at. */
import type { ItemIdentity, ItemState, RowNote } from './row-notes.js';

export interface MirrorItem extends ItemIdentity {
  /** As its sender knows it. */
  readonly item: string;
  readonly lanes: readonly string[];
  /** When it was last claimed; of the world. */
  claimedAt: number;
  /** When its lease last began anew, by a claim or a renewal; of the world. */
  leasedAt: number;
  /** When that was committed. */
  leaseCommittedAt: number;
  /** From when on it may run, by the database's clock, however long it is put aside for a limit. */
  dueAt: number;
  now: ItemState;
}

export const TERMINAL: ReadonlySet<string> = new Set(['completed', 'skipped', 'dead', 'coalesced']);

/** Takes part in its lanes: everything but the ended ones and the queued generations. */
export const isOpen = ({ projection, now }: MirrorItem): boolean =>
  now.state === 'processing' ||
  now.state === 'held' ||
  (now.state === 'pending' && (projection === null || now.activeKey !== null));

export class RowMirror {
  readonly items = new Map<string, MirrorItem>();
  readonly events = new Map<
    string,
    {
      readonly item: string;
      readonly source: string;
      readonly parentId: string | null;
      readonly receiptId: string;
      readonly conflict: boolean;
      owner: string;
    }
  >();
  /** Of all items that are stored. */
  readonly names = new Set<string>();
  readonly receipts = new Map<string, { readonly quarantined: boolean }>();
  readonly #lanes = new Map<string, MirrorItem[]>();
  readonly #projections = new Map<string, MirrorItem[]>();
  readonly #processing = new Map<number, number>();
  readonly #children = new Map<string, number>();
  readonly #byEvent = new Map<string, MirrorItem>();

  /** A replay has the name of its parent, and one stroke more. */
  addEvent({ eventId, item, ...event }: Extract<RowNote, { kind: 'event in' }>): void {
    const parent = event.parentId === null ? undefined : this.events.get(event.parentId);
    if (event.parentId !== null) this.#children.set(event.parentId, this.childrenOf(event.parentId) + 1);
    this.events.set(eventId, { ...event, item: parent === undefined ? item : `${parent.item}'` });
  }

  childrenOf(eventId: string): number {
    return this.#children.get(eventId) ?? 0;
  }

  itemOfEvent(eventId: string): MirrorItem | undefined {
    return this.#byEvent.get(eventId);
  }

  add(identity: ItemIdentity, state: ItemState): MirrorItem {
    const lanes = [identity.sourceLane, identity.deliveryLane, identity.targetLane].filter(
      (key) => key !== null,
    );
    const name = this.events.get(identity.eventId)?.item ?? identity.eventId;
    const item: MirrorItem = {
      ...identity,
      item: name,
      lanes,
      claimedAt: 0,
      leasedAt: 0,
      leaseCommittedAt: 0,
      dueAt: state.runAfter,
      now: state,
    };
    this.items.set(item.workId, item);
    this.#byEvent.set(item.eventId, item);
    this.names.add(name);
    for (const lane of lanes) append(this.#lanes, lane, item);
    if (item.projection !== null) append(this.#projections, item.projection, item);
    return item;
  }

  change(item: MirrorItem, state: ItemState): void {
    const difference = Number(state.state === 'processing') - Number(item.now.state === 'processing');
    this.#processing.set(item.packId, this.processing(item.packId) + difference);
    if (item.now.state !== 'pending' || state.state !== 'pending') item.dueAt = state.runAfter;
    item.now = state;
  }

  /** Rows of an installation in processing. */
  processing(packId: number): number {
    return this.#processing.get(packId) ?? 0;
  }

  /** Rows in processing, over all installations, whose lease is not over at this time of the database's clock. */
  leasedAt(at: number): readonly MirrorItem[] {
    return [...this.items.values()].filter(
      ({ now }) => now.state === 'processing' && (now.leaseUntil ?? 0) >= at,
    );
  }

  sourceOf({ eventId }: MirrorItem): string {
    return this.events.get(eventId)!.source;
  }

  lane(key: string): readonly MirrorItem[] {
    return this.#lanes.get(key) ?? [];
  }

  generations(projection: string): readonly MirrorItem[] {
    return this.#projections.get(projection) ?? [];
  }

  /** Whoever keeps this item from running: an open item of one of its lanes that runs or comes before it. */
  blocker(item: MirrorItem): MirrorItem | undefined {
    for (const key of item.lanes) {
      for (const other of this.lane(key)) {
        if (other === item || !isOpen(other)) continue;
        if (other.now.state === 'processing' || other.ordinal < item.ordinal) return other;
      }
    }
    return undefined;
  }

  /** Pending, takes part, and nobody is before it. */
  isHead(item: MirrorItem): boolean {
    return item.now.state === 'pending' && isOpen(item) && this.blocker(item) === undefined;
  }
}

function append(index: Map<string, MirrorItem[]>, key: string, item: MirrorItem): void {
  const members = index.get(key);
  if (members === undefined) index.set(key, [item]);
  else members.push(item);
}
