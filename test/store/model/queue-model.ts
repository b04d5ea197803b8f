import type { OnDead, QueueClass, WorkItemState } from '../../../src/core/work.js';
import type { PackStatus } from '../../../src/store/store.js';
import type { EventSketch, ReceiptSketch } from '../../support/drafts.js';

/**
 * What the store should be: an array of items and a few loops over it, with no index, no hint and no lock. Times are
 * hours from the start of a run; leases end at half hours, so that no lease ends just when somebody looks.
 */
export interface ModelItem {
  readonly workId: string;
  readonly eventId: string;
  readonly ordinal: number;
  readonly queueClass: QueueClass;
  readonly lanes: readonly string[];
  readonly budget: number;
  readonly onDead: OnDead;
  readonly projection: string | null;
  readonly projectionGeneration: number | null;
  /** Of a projection: holds its key. */
  active: boolean;
  generation: number;
  state: WorkItemState;
  runAfter: number;
  leaseUntil: number | null;
  token: string | null;
  epoch: number;
  attempt: number;
  failures: number;
  supersededBy: string | null;
}

export interface ModelEvent {
  readonly conflictOf: string | null;
  /** No older binary may take it any more: a claim owns it, or it ended without one. */
  fenced: boolean;
}

export interface Admission extends ReceiptSketch {
  readonly receiptId: string;
  readonly delivery: string;
  readonly body: string;
  readonly events: readonly (EventSketch & { readonly eventId: string; readonly workId: string })[];
}

export interface Admitted {
  readonly receiptId: string;
  readonly events: number;
  readonly duplicate: boolean;
  readonly conflict: boolean;
  readonly quarantined: boolean;
}

export interface ModelClaim {
  readonly generation: number;
  readonly queueClasses: readonly QueueClass[];
  readonly preference: readonly QueueClass[];
  readonly maxClaims: number;
  readonly leaseHours: number;
  readonly processingBudget: number;
  readonly mode: 'fresh' | 'stale' | 'any';
  readonly token: string;
}

export interface ModelClaimed {
  readonly items: readonly ModelItem[];
  readonly reclaimed: ReadonlySet<string>;
  readonly expired: number;
}

export interface ModelLease {
  readonly workId: string;
  readonly token: string;
  readonly epoch: number;
}

export type ModelOutcome = 'completed' | 'skipped' | 'dead' | 'failed' | 'released';

interface Key {
  readonly content: string;
  readonly receiptId: string;
  readonly eventId: string | null;
  /** The commit that stored it. */
  readonly commit: number;
}

export class QueueModel {
  now = 0;
  generation = 1;
  status: PackStatus = 'active';
  readonly items: ModelItem[] = [];
  readonly events = new Map<string, ModelEvent>();
  readonly receipts = new Map<string, { quarantined: boolean }>();
  /** Every lease that was ever given, newest first. */
  readonly leases: ModelLease[] = [];
  readonly #keys = new Map<string, Key>();
  readonly #projections = new Map<string, number>();
  /** Who waited for a projection's turn before this commit and had to go. */
  readonly #displaced = new Map<string, ModelItem>();
  #itemsBefore = 0;
  #commits = 0;
  #nextOrdinal = 2 ** 40;
  #nextHistory = 1;

  // ── what can be seen ─────────────────────────────────────────────────────────────────────────────────────

  get processing(): readonly ModelItem[] {
    return this.items.filter((item) => item.state === 'processing');
  }

  /** Expired leases, in the order in which they are taken over. */
  get stale(): readonly ModelItem[] {
    return this.processing
      .filter((item) => item.leaseUntil! < this.now)
      .sort((a, b) => a.leaseUntil! - b.leaseUntil! || (a.workId < b.workId ? -1 : 1));
  }

  /** Waiting items that no lane keeps back, due or not. */
  get heads(): readonly ModelItem[] {
    return this.items.filter((item) => this.#isHead(item));
  }

  #isHead(item: ModelItem): boolean {
    return item.state === 'pending' && inLanes(item) && !this.#isBlocked(item);
  }

  #isBlocked(item: ModelItem): boolean {
    return this.items.some(
      (other) =>
        other !== item &&
        inLanes(other) &&
        (other.state === 'processing' || other.ordinal < item.ordinal) &&
        other.lanes.some((lane) => item.lanes.includes(lane)),
    );
  }

  #isClaimable(item: ModelItem, generation: number): boolean {
    return this.#isHead(item) && item.runAfter <= this.now && item.generation <= generation;
  }

  // ── admission ────────────────────────────────────────────────────────────────────────────────────────────

  admit(receipts: readonly Admission[]): readonly Admitted[] | { readonly refused: PackStatus } {
    if (this.status !== 'active') return { refused: this.status };
    this.#commits++;
    this.#itemsBefore = this.items.length;
    this.#displaced.clear();
    return receipts.map((receipt) => this.#admitOne(receipt));
  }

  /** Gives a quarantined receipt its events. */
  rematerialize(receipt: Admission): readonly Admitted[] | { readonly refused: PackStatus } {
    if (this.status !== 'active') return { refused: this.status };
    this.#commits++;
    this.#itemsBefore = this.items.length;
    this.#displaced.clear();
    this.receipts.set(receipt.receiptId, { quarantined: false });
    return [this.#admitOne(receipt, true)];
  }

  #admitOne(receipt: Admission, again = false): Admitted {
    const quarantined = receipt.quarantine !== undefined;
    const { route = 'events' } = receipt;
    const fates =
      quarantined || (receipt.events.length === 0 && !again)
        ? [this.#settle(`${route}/${requestKeyOf(receipt)}`, receipt.body, receipt, null)]
        : receipt.events.map((event, place) => {
            const key = event.key ?? `${receipt.delivery}/${place}`;
            const content = `${event.source}/${event.payload ?? receipt.body}`;
            const fate = this.#settle(
              `${route}/${event.key === undefined ? 'place' : 'key'}/${key}`,
              content,
              receipt,
              event.eventId,
            );
            if (fate.kind === 'new') this.#store(receipt, place, fate.conflictOf);
            return fate;
          });
    if (fates.some((fate) => fate.kind === 'new') && !again)
      this.receipts.set(receipt.receiptId, { quarantined });
    const duplicate = fates.length > 0 && fates.every((fate) => fate.kind === 'known');
    return {
      receiptId: duplicate ? fates[0]!.receiptId : receipt.receiptId,
      events: quarantined ? 0 : receipt.events.length,
      duplicate,
      conflict: fates.some((fate) => fate.conflictOf !== null),
      quarantined,
    };
  }

  /** Whether a key is new, known, or this very request come again; other content gets a key of its own. */
  #settle(
    key: string,
    content: string,
    receipt: Admission,
    eventId: string | null,
    conflictOf: string | null = null,
  ): { kind: 'new' | 'known' | 'own'; receiptId: string; conflictOf: string | null } {
    const { receiptId } = receipt;
    const holder = this.#keys.get(key);
    if (holder === undefined) {
      this.#keys.set(key, { content, receiptId, eventId, commit: this.#commits });
      return { kind: 'new', receiptId, conflictOf };
    }
    if (holder.content !== content) {
      const first = holder.eventId ?? holder.receiptId;
      return this.#settle(`conflict/${key}/${content}`, content, receipt, eventId, first);
    }
    const own = holder.receiptId === receiptId && holder.commit !== this.#commits;
    return { kind: own ? 'own' : 'known', receiptId: holder.receiptId, conflictOf };
  }

  #store(receipt: Admission, place: number, conflictOf: string | null, history = false): void {
    const event = receipt.events[place]!;
    const held = conflictOf !== null && (receipt.onConflict ?? 'hold') === 'hold';
    this.events.set(event.eventId, { conflictOf, fenced: held });
    const item: ModelItem = {
      workId: event.workId,
      eventId: event.eventId,
      ordinal: history ? this.#nextHistory++ : this.#nextOrdinal++,
      queueClass: event.queueClass ?? 'default',
      lanes: lanesOf(receipt, event),
      budget: event.budget ?? 8,
      onDead: event.onDead ?? 'advance',
      projection: event.projection === undefined ? null : `${receipt.route ?? 'events'}/${event.projection}`,
      projectionGeneration: null,
      active: false,
      generation: this.generation,
      state: held ? 'skipped' : 'pending',
      runAfter: event.runAfter ?? this.now,
      leaseUntil: null,
      token: null,
      epoch: 0,
      attempt: 0,
      failures: 0,
      supersededBy: null,
    };
    this.items.push(item.projection === null || held ? item : this.#queueProjection(item));
  }

  /** One generation of a key is active, one waits; a newer one takes the place of the one that waits. */
  #queueProjection(item: ModelItem): ModelItem {
    const generation = (this.#projections.get(item.projection!) ?? 0) + 1;
    this.#projections.set(item.projection!, generation);
    const open = this.items.filter((other) => other.projection === item.projection && isOpen(other));
    const waiting = open.find((other) => !other.active);
    if (waiting !== undefined) {
      waiting.state = 'coalesced';
      waiting.supersededBy = item.workId;
      this.events.get(waiting.eventId)!.fenced = true;
      // What waited before this commit is displaced by the last of those that came in it.
      if (this.items.indexOf(waiting) < this.#itemsBefore) this.#displaced.set(item.projection!, waiting);
      const before = this.#displaced.get(item.projection!);
      if (before !== undefined) before.supersededBy = item.workId;
    }
    return { ...item, projectionGeneration: generation, active: open.length === 0 };
  }

  /** An Event that an older writer stored without a WorkItem is given one, before everything newer. */
  repairHistory(receipt: Admission): void {
    this.#store(receipt, 0, null, true);
  }

  // ── drain ────────────────────────────────────────────────────────────────────────────────────────────────

  claim(request: ModelClaim): ModelClaimed {
    if (this.status !== 'active') return { items: [], reclaimed: new Set(), expired: 0 };
    const { mode, maxClaims, processingBudget } = request;
    const expiring =
      mode === 'fresh' ? [] : this.stale.filter((item) => classOf(request, item)).slice(0, maxClaims);
    for (const item of expiring) this.#fail(item, 0);
    const again = expiring.filter((item) => this.#isClaimable(item, request.generation));
    for (const item of again) this.#take(item, request);
    const room = Math.min(maxClaims - again.length, processingBudget - this.processing.length);
    const fresh = mode === 'stale' ? [] : this.#fresh(request).slice(0, Math.max(0, room));
    for (const item of fresh) this.#take(item, request);
    return {
      items: [...again, ...fresh],
      reclaimed: new Set(again.map((item) => item.workId)),
      expired: expiring.filter((item) => item.state === 'dead' || item.state === 'held').length,
    };
  }

  claimForEvent(request: ModelClaim, eventId: string): ModelClaimed {
    const item = this.items.find((other) => other.eventId === eventId);
    const may =
      this.status === 'active' &&
      item !== undefined &&
      classOf(request, item) &&
      this.#isClaimable(item, request.generation) &&
      this.processing.length < request.processingBudget;
    if (may) this.#take(item, request);
    return { items: may ? [item] : [], reclaimed: new Set(), expired: 0 };
  }

  /** What may be claimed, preferred classes first, in the order of ordinals. */
  #fresh(request: ModelClaim): readonly ModelItem[] {
    const rank = (item: ModelItem): number => (request.preference.includes(item.queueClass) ? 0 : 1);
    return this.items
      .filter((item) => classOf(request, item) && this.#isClaimable(item, request.generation))
      .sort((a, b) => rank(a) - rank(b) || a.ordinal - b.ordinal);
  }

  #take(item: ModelItem, { token, leaseHours, generation }: ModelClaim): void {
    item.state = 'processing';
    item.token = token;
    item.leaseUntil = this.now + leaseHours;
    item.epoch++;
    item.attempt++;
    item.generation = generation;
    this.events.get(item.eventId)!.fenced = true;
    this.leases.unshift({ workId: item.workId, token, epoch: item.epoch });
  }

  /** The item of a lease that holds; `undefined` when it is lost. */
  heldBy({ workId, token, epoch }: ModelLease): ModelItem | undefined {
    return this.items.find((item) => item.workId === workId && item.token === token && item.epoch === epoch);
  }

  finalize(lease: ModelLease, outcome: ModelOutcome, delayHours: number): ModelItem | undefined {
    const item = this.heldBy(lease);
    if (item?.state !== 'processing') return item;
    switch (outcome) {
      case 'completed':
      case 'skipped':
        this.#end(item, outcome);
        break;
      case 'dead':
        this.#giveUp(item);
        break;
      case 'failed':
        this.#fail(item, delayHours);
        break;
      case 'released':
        this.#wait(item, delayHours);
    }
    return item;
  }

  renew(lease: ModelLease, leaseHours: number): boolean {
    const item = this.heldBy(lease);
    if (item?.state !== 'processing' || item.leaseUntil! < this.now) return false;
    item.leaseUntil = this.now + leaseHours;
    return true;
  }

  #fail(item: ModelItem, delayHours: number): void {
    item.failures++;
    if (item.failures < item.budget) this.#wait(item, delayHours);
    else this.#giveUp(item);
  }

  #giveUp(item: ModelItem): void {
    if (item.onDead === 'hold') {
      item.state = 'held';
      item.leaseUntil = null;
    } else this.#end(item, 'dead');
  }

  #wait(item: ModelItem, delayHours: number): void {
    item.state = 'pending';
    item.leaseUntil = null;
    item.runAfter = this.now + delayHours;
  }

  #end(item: ModelItem, state: 'completed' | 'skipped' | 'dead'): void {
    item.state = state;
    item.leaseUntil = null;
    if (!item.active) return;
    item.active = false;
    const waiting = this.items.find((other) => other.projection === item.projection && isOpen(other));
    if (waiting !== undefined) waiting.active = true;
  }
}

/** A receipt in quarantine equals none but itself. */
const requestKeyOf = ({ quarantine, receiptId, body }: Admission): string =>
  quarantine ? `quarantine/${receiptId}` : `request/${body}`;

const isOpen = ({ state }: ModelItem): boolean => ['pending', 'processing', 'held'].includes(state);

/** A generation that waits for its turn keeps nobody back and is kept back by nobody. */
const inLanes = (item: ModelItem): boolean => isOpen(item) && (item.projection === null || item.active);

const classOf = ({ queueClasses }: ModelClaim, item: ModelItem): boolean =>
  queueClasses.length === 0 || queueClasses.includes(item.queueClass);

function lanesOf(
  { route = 'events', ordering = 'source', delivery }: Admission,
  event: EventSketch,
): readonly string[] {
  const lanes: string[] = [];
  if (event.projection !== undefined) lanes.push(`projection/${route}/${event.projection}`);
  else if (ordering !== 'none') lanes.push(`source/${route}/${event.source}`);
  if (ordering === 'strict') lanes.push(`delivery/${route}/${delivery}`);
  if (event.target !== undefined) lanes.push(`target/${event.target}`);
  return lanes;
}
