import type { Cancel, Clock } from '../core/clock.js';
import { isLaneheadError } from '../core/errors.js';
import { copiedBytes, isBodyShared } from '../core/shared-body.js';
import type { Enqueued, QueueClass } from '../core/work.js';
import type { MaterializeRequest, MaterializeResult, ReceiptDraft, Store } from '../store/store.js';
import { Contention, StoreOutage } from '../store/store.js';
import type { CommitLoad } from './shed-controller.js';

/**
 * Concurrent receipts of one installed pack share one commit. One group per namespace is in flight, because all of them
 * would queue on the same authority row; while it is, the next ones gather, and the packs of the namespace take turns.
 * So whoever has more packs, or sends more, has no more commits in flight than others.
 *
 *            first receipt                    full, or gatherMs over
 *     idle ───────────────────▶ gathering ──────────────────────────▶ committing ◀──┐
 *      ▲                            ▲                                   │  │  │     │ one receipt after the other,
 *      │                            └───── receipts wait ───────────────┤  │  └─────┘ after a failure of several
 *      └────────────────────────────────── none waits ──────────────────┘  │          (isolation)
 *                                                                          ▼
 *                                     overdue: this commit is older than the deadline; new receipts are refused at
 *                                     once until it returns
 *
 * A receipt's own way: waiting ──▶ committing ──▶ stored | refused | unavailable | failed, and from the first two
 * `deadline` when its time is over. A receipt that ran out of time while waiting is never sent to the store.
 */
export interface GroupCommitOptions {
  readonly materialize: Store['materialize'];
  readonly clock: Clock;
  /** Called after each durable commit, to wake the local scheduler. */
  readonly onCommitted: (enqueued: Enqueued) => void;
  /** Called once for each commit, with how it ended and how long it took. */
  readonly onCommitEnded?: (commit: CommitReport) => void;
  /** Called once for each commit that failed, however many receipts it had. */
  readonly onFailure: (packId: number, error: unknown) => void;
  /** Receipts of one commit, ≥ 1. Default 64. */
  readonly maxReceipts?: number;
  /** Bytes of one commit; a single larger receipt is committed alone. Default 4 MiB. */
  readonly maxBytes?: number;
  /** How long the first receipt of a group waits for company. Default 0: not at all. */
  readonly gatherMs?: number;
  /** From submission to commit; then its sender is told to come back. Default 10,000. */
  readonly deadlineMs?: number;
}

export const COMMIT_OUTCOMES = ['stored', 'refused', 'unavailable', 'failed'] as const;

export interface CommitReport {
  readonly outcome: (typeof COMMIT_OUTCOMES)[number];
  readonly namespace: string;
  readonly receipts: number;
  /** Of its receipts, as `unitsOf` counts them. */
  readonly units: number;
  readonly elapsedMs: number;
}

/** What became of one receipt. Only `stored` is a promise to its sender (ADM-1). */
export type Commitment =
  | { readonly kind: 'stored'; readonly result: MaterializeResult }
  | { readonly kind: 'refused'; readonly status: 'paused' | 'retired' }
  /** Outage or contention; nothing is known to be stored, or exactly what a repeat dedupes onto. */
  | { readonly kind: 'unavailable'; readonly error: unknown }
  /** Took too long; the commit may still land, and a repeat then dedupes onto it. */
  | { readonly kind: 'deadline' }
  /** This receipt alone cannot be stored: a bug, or data the engine refuses. */
  | { readonly kind: 'failed'; readonly error: unknown };

type Failure = Extract<Commitment, { kind: 'refused' | 'unavailable' | 'failed' }>;

interface Waiter {
  readonly draft: ReceiptDraft;
  readonly bytes: number;
  readonly units: number;
  /** Monotonic. */
  readonly since: number;
  readonly settle: (commitment: Commitment) => void;
  settled: boolean;
}

interface NamespaceQueue {
  readonly namespace: string;
  /** What waits, by pack; the one whose turn it is first, and none that is empty. */
  readonly waiting: Map<number, Waiter[]>;
  running: boolean;
  /** Monotonic start of the commit in flight; `null` between commits. */
  committingSince: number | null;
  committing: readonly Waiter[];
  /** Of what waits. */
  units: number;
  /** Ends the gathering of the current group early. */
  full: (() => void) | null;
}

interface Group {
  readonly packId: number;
  readonly waiters: readonly Waiter[];
}

const DEFAULTS = {
  maxReceipts: 64,
  maxBytes: 4 * 2 ** 20,
  gatherMs: 0,
  deadlineMs: 10_000,
  onCommitEnded: () => {},
};

const NO_LOAD: CommitLoad = { units: 0, committingUnits: 0, committingMs: 0, oldestMs: 0 };

export class GroupCommit {
  readonly #options: Required<GroupCommitOptions>;
  readonly #queues = new Map<string, NamespaceQueue>();

  constructor(options: GroupCommitOptions) {
    this.#options = { ...DEFAULTS, ...options };
  }

  /** Receipts that wait for a commit; those of commits in flight are not among them. */
  get waiting(): number {
    let waiting = 0;
    for (const queue of this.#queues.values())
      for (const waiters of queue.waiting.values()) waiting += waiters.length;
    return waiting;
  }

  /** Units of a full commit. */
  get groupUnits(): number {
    return this.#options.maxReceipts;
  }

  /** A receipt is one, a large one as many as it takes the place of in a full commit; all of it at most. */
  unitsOf(bytes: number): number {
    const { maxReceipts, maxBytes } = this.#options;
    return Math.min(maxReceipts, Math.max(1, (bytes / maxBytes) * maxReceipts));
  }

  get deadlineMs(): number {
    return this.#options.deadlineMs;
  }

  loadOf(namespace: string): CommitLoad {
    const queue = this.#queues.get(namespace);
    if (queue === undefined || !queue.running) return NO_LOAD;
    const now = this.#options.clock.monotonic();
    const { committing, committingSince } = queue;
    const committingUnits = sumUnits(committing);
    let oldest = committing[0]?.since ?? now;
    for (const [first] of queue.waiting.values()) oldest = Math.min(oldest, first!.since);
    return {
      units: queue.units + committingUnits,
      committingUnits,
      committingMs: committingSince === null ? 0 : now - committingSince,
      oldestMs: now - oldest,
    };
  }

  /** Resolves with what became of the receipt, at the latest at the deadline; never rejects. */
  submit(packId: number, namespace: string, draft: ReceiptDraft): Promise<Commitment> {
    const queue = this.#queueOf(namespace);
    if (this.#isOverdue(queue)) return Promise.resolve({ kind: 'deadline' });
    return new Promise((resolve) => {
      const waiter = this.#waiter(queue, packId, draft, resolve);
      const waiting = queue.waiting.get(packId);
      if (waiting === undefined) queue.waiting.set(packId, [waiter]);
      else waiting.push(waiter);
      queue.units += waiter.units;
      if (!queue.running) void this.#run(queue);
      else if (this.#isFull(queue)) queue.full?.();
    });
  }

  #queueOf(namespace: string): NamespaceQueue {
    let queue = this.#queues.get(namespace);
    if (queue === undefined) {
      queue = {
        namespace,
        waiting: new Map(),
        running: false,
        committingSince: null,
        committing: [],
        units: 0,
        full: null,
      };
      this.#queues.set(namespace, queue);
    }
    return queue;
  }

  #waiter(
    queue: NamespaceQueue,
    packId: number,
    draft: ReceiptDraft,
    resolve: (commitment: Commitment) => void,
  ): Waiter {
    const { clock, deadlineMs } = this.#options;
    let cancel: Cancel = () => {};
    const bytes = bytesOf(draft);
    const waiter: Waiter = {
      draft,
      bytes,
      units: this.unitsOf(bytes),
      since: clock.monotonic(),
      settled: false,
      settle: (commitment) => {
        if (waiter.settled) return;
        waiter.settled = true;
        cancel();
        resolve(commitment);
      },
    };
    cancel = clock.after(deadlineMs, () => {
      this.#forget(queue, packId, waiter);
      waiter.settle({ kind: 'deadline' });
    });
    return waiter;
  }

  #forget(queue: NamespaceQueue, packId: number, waiter: Waiter): void {
    const waiting = queue.waiting.get(packId) ?? [];
    if (!waiting.includes(waiter)) return;
    queue.units -= waiter.units;
    if (waiting.length === 1) queue.waiting.delete(packId);
    else waiting.splice(waiting.indexOf(waiter), 1);
  }

  async #run(queue: NamespaceQueue): Promise<void> {
    queue.running = true;
    while (queue.waiting.size > 0) {
      if (this.#options.gatherMs > 0) await this.#gather(queue);
      const group = this.#takeGroup(queue);
      if (group !== null) await this.#commitGroup(queue, group);
    }
    queue.running = false;
  }

  #gather(queue: NamespaceQueue): Promise<void> {
    if (this.#isFull(queue)) return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        cancel();
        queue.full = null;
        resolve();
      };
      const cancel = this.#options.clock.after(this.#options.gatherMs, done);
      queue.full = done;
    });
  }

  /** Of the pack whose turn it is. */
  #isFull(queue: NamespaceQueue): boolean {
    const { maxReceipts, maxBytes } = this.#options;
    const [waiting = []] = queue.waiting.values();
    if (waiting.length >= maxReceipts) return true;
    return queue.full !== null && sumBytes(waiting) >= maxBytes;
  }

  /** Of the pack whose turn it is, which then goes behind the others; `null`: all who waited ran out of time. */
  #takeGroup(queue: NamespaceQueue): Group | null {
    const { maxReceipts, maxBytes } = this.#options;
    const [next] = queue.waiting;
    if (next === undefined) return null;
    const [packId, waiting] = next;
    let count = 0;
    let bytes = 0;
    for (const waiter of waiting) {
      if (count > 0 && (count >= maxReceipts || bytes + waiter.bytes > maxBytes)) break;
      count += 1;
      bytes += waiter.bytes;
    }
    const waiters = waiting.splice(0, count);
    queue.units -= sumUnits(waiters);
    queue.waiting.delete(packId);
    if (waiting.length > 0) queue.waiting.set(packId, waiting);
    return { packId, waiters };
  }

  async #commitGroup(queue: NamespaceQueue, group: Group): Promise<void> {
    const failure = await this.#commit(queue, group);
    if (failure === null) return;
    if (group.waiters.length > 1 && failure.kind !== 'refused') return this.#isolate(queue, group);
    for (const waiter of group.waiters) waiter.settle(failure);
  }

  /**
   * One receipt that cannot be stored must not fail its neighbours: each is tried alone. An outage too may be the
   * doing of one receipt (a server drops the connection that sends it too much); two in a row are the store's own.
   */
  async #isolate(queue: NamespaceQueue, { packId, waiters }: Group): Promise<void> {
    let outages = 0;
    let last: Failure | null = null;
    for (const waiter of waiters) {
      if (waiter.settled) continue;
      if (outages < OUTAGES_OF_THE_STORE) last = await this.#commit(queue, { packId, waiters: [waiter] });
      outages = last?.kind === 'unavailable' ? outages + 1 : 0;
      if (last !== null) waiter.settle(last);
    }
  }

  /** Settles the group and returns `null`, or returns why none of it was stored. */
  async #commit(queue: NamespaceQueue, group: Group): Promise<Failure | null> {
    const { clock, onCommitEnded, onCommitted } = this.#options;
    const { namespace } = queue;
    const { packId, waiters } = group;
    const since = clock.monotonic();
    queue.committingSince = since;
    queue.committing = waiters;
    const ended = await this.#store(namespace, group);
    const elapsedMs = clock.monotonic() - since;
    queue.committingSince = null;
    queue.committing = [];
    const facts = { namespace, receipts: waiters.length, units: sumUnits(waiters), elapsedMs };
    if ('kind' in ended) {
      onCommitEnded({ outcome: ended.kind, ...facts });
      return ended;
    }
    onCommitEnded({ outcome: 'stored', ...facts });
    waiters.forEach((waiter, place) => {
      waiter.settle({ kind: 'stored', result: ended[place]! });
    });
    onCommitted({ packId, queueClasses: classesOf(waiters) });
    return null;
  }

  async #store(
    namespace: string,
    { packId, waiters }: Group,
  ): Promise<readonly MaterializeResult[] | Failure> {
    const receipts = waiters.map((waiter) => waiter.draft);
    try {
      const outcome = await this.#materialize({ packId, namespace, receipts });
      if ('refused' in outcome) return { kind: 'refused', status: outcome.refused };
      if (outcome.length === receipts.length) return outcome;
      throw new Error('the store answered for another number of receipts');
    } catch (error) {
      this.#options.onFailure(packId, error);
      return { kind: isInfrastructure(error) ? 'unavailable' : 'failed', error };
    }
  }

  /** Async, so that a store which throws at once fails as one that rejects. */
  async #materialize(request: MaterializeRequest): ReturnType<Store['materialize']> {
    return this.#options.materialize(request);
  }

  #isOverdue({ committingSince }: NamespaceQueue): boolean {
    const { clock, deadlineMs } = this.#options;
    return committingSince !== null && clock.monotonic() - committingSince >= deadlineMs;
  }
}

const OUTAGES_OF_THE_STORE = 2;

function classesOf(waiters: readonly Waiter[]): readonly QueueClass[] {
  return [...new Set(waiters.flatMap(({ draft: { events } }) => events.map(({ queueClass }) => queueClass)))];
}

function isInfrastructure(error: unknown): boolean {
  return (
    error instanceof StoreOutage || error instanceof Contention || isLaneheadError(error, 'store_unavailable')
  );
}

/** Of a row beside what its draft brings: keys, ids, dates, and its part of the indexes. */
const ROW_BYTES = 1_024;

/** What the commit of a receipt writes, near enough to bound it. */
function bytesOf(draft: ReceiptDraft): number {
  let bytes = ROW_BYTES + draft.body.length + draft.target.length;
  if (!isBodyShared(draft)) bytes += copiedBytes(draft);
  for (const [name, value] of draft.headers) bytes += name.length + value.length;
  for (const { payload, companion } of draft.events) {
    bytes += ROW_BYTES + (payload?.length ?? 0) + (companion === null ? 0 : Buffer.byteLength(companion));
  }
  return bytes;
}

function sumUnits(waiters: readonly Waiter[]): number {
  return waiters.reduce((sum, waiter) => sum + waiter.units, 0);
}

function sumBytes(waiters: readonly Waiter[]): number {
  return waiters.reduce((sum, waiter) => sum + waiter.bytes, 0);
}
