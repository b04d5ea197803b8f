import type { Cancel, Clock } from '../core/clock.js';
import { isLaneheadError } from '../core/errors.js';
import { copiedBytes, isBodyShared } from '../core/shared-body.js';
import type { Enqueued, QueueClass } from '../core/work.js';
import type { MaterializeRequest, MaterializeResult, ReceiptDraft, Store } from '../store/store.js';
import { Contention, StoreOutage } from '../store/store.js';

/**
 * Concurrent receipts of one installed pack share one commit. One group per pack is in flight, because all of them
 * would queue on the same authority row; while it is, the next one gathers.
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

export interface CommitReport {
  readonly outcome: 'stored' | 'refused' | 'unavailable' | 'failed';
  readonly receipts: number;
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
  readonly settle: (commitment: Commitment) => void;
  settled: boolean;
}

interface PackQueue {
  readonly packId: number;
  readonly namespace: string;
  waiting: Waiter[];
  running: boolean;
  /** Monotonic start of the commit in flight; `null` between commits. */
  committingSince: number | null;
  /** Ends the gathering of the current group early. */
  full: (() => void) | null;
}

const BOUNDS = { maxReceipts: 64, maxBytes: 4 * 2 ** 20, gatherMs: 0, deadlineMs: 10_000 };

export class GroupCommit {
  readonly #options: Required<GroupCommitOptions>;
  readonly #queues = new Map<number, PackQueue>();

  constructor(options: GroupCommitOptions) {
    this.#options = { onCommitEnded: () => {}, ...BOUNDS, ...options };
  }

  /** Receipts that wait for a commit; those of commits in flight are not among them. */
  get waiting(): number {
    let waiting = 0;
    for (const queue of this.#queues.values()) waiting += queue.waiting.length;
    return waiting;
  }

  /** Resolves with what became of the receipt, at the latest at the deadline; never rejects. */
  submit(packId: number, namespace: string, draft: ReceiptDraft): Promise<Commitment> {
    const queue = this.#queueOf(packId, namespace);
    if (this.#isOverdue(queue)) return Promise.resolve({ kind: 'deadline' });
    return new Promise((resolve) => {
      queue.waiting.push(this.#waiter(queue, draft, resolve));
      if (!queue.running) void this.#run(queue);
      else if (this.#isFull(queue)) queue.full?.();
    });
  }

  #queueOf(packId: number, namespace: string): PackQueue {
    let queue = this.#queues.get(packId);
    if (queue === undefined) {
      queue = { packId, namespace, waiting: [], running: false, committingSince: null, full: null };
      this.#queues.set(packId, queue);
    }
    return queue;
  }

  #waiter(queue: PackQueue, draft: ReceiptDraft, resolve: (commitment: Commitment) => void): Waiter {
    const { clock, deadlineMs } = this.#options;
    let cancel: Cancel = () => {};
    const waiter: Waiter = {
      draft,
      bytes: bytesOf(draft),
      settled: false,
      settle: (commitment) => {
        if (waiter.settled) return;
        waiter.settled = true;
        cancel();
        resolve(commitment);
      },
    };
    cancel = clock.after(deadlineMs, () => {
      queue.waiting = queue.waiting.filter((other) => other !== waiter);
      waiter.settle({ kind: 'deadline' });
    });
    return waiter;
  }

  async #run(queue: PackQueue): Promise<void> {
    queue.running = true;
    while (queue.waiting.length > 0) {
      if (this.#options.gatherMs > 0) await this.#gather(queue);
      await this.#commitGroup(queue, this.#takeGroup(queue));
    }
    queue.running = false;
  }

  #gather(queue: PackQueue): Promise<void> {
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

  #isFull(queue: PackQueue): boolean {
    const { maxReceipts, maxBytes } = this.#options;
    if (queue.waiting.length >= maxReceipts) return true;
    return queue.full !== null && sumBytes(queue.waiting) >= maxBytes;
  }

  #takeGroup(queue: PackQueue): Waiter[] {
    const { maxReceipts, maxBytes } = this.#options;
    let count = 0;
    let bytes = 0;
    for (const waiter of queue.waiting) {
      if (count > 0 && (count >= maxReceipts || bytes + waiter.bytes > maxBytes)) break;
      count += 1;
      bytes += waiter.bytes;
    }
    return queue.waiting.splice(0, count);
  }

  async #commitGroup(queue: PackQueue, group: readonly Waiter[]): Promise<void> {
    if (group.length === 0) return;
    const failure = await this.#commit(queue, group);
    if (failure === null) return;
    if (group.length > 1 && failure.kind !== 'refused') return this.#isolate(queue, group);
    for (const waiter of group) waiter.settle(failure);
  }

  /**
   * One receipt that cannot be stored must not fail its neighbours: each is tried alone. An outage too may be the
   * doing of one receipt (a server drops the connection that sends it too much); two in a row are the store's own.
   */
  async #isolate(queue: PackQueue, group: readonly Waiter[]): Promise<void> {
    let outages = 0;
    let last: Failure | null = null;
    for (const waiter of group) {
      if (waiter.settled) continue;
      if (outages < OUTAGES_OF_THE_STORE) last = await this.#commit(queue, [waiter]);
      outages = last?.kind === 'unavailable' ? outages + 1 : 0;
      if (last !== null) waiter.settle(last);
    }
  }

  async #commit(queue: PackQueue, group: readonly Waiter[]): Promise<Failure | null> {
    const { clock, onCommitEnded } = this.#options;
    const startedAt = clock.monotonic();
    const failure = await this.#tryCommit(queue, group);
    const elapsedMs = clock.monotonic() - startedAt;
    onCommitEnded({ outcome: failure?.kind ?? 'stored', receipts: group.length, elapsedMs });
    return failure;
  }

  /** Settles the group and returns `null`, or returns why none of it was stored. */
  async #tryCommit(queue: PackQueue, group: readonly Waiter[]): Promise<Failure | null> {
    const receipts = group.map((waiter) => waiter.draft);
    queue.committingSince = this.#options.clock.monotonic();
    try {
      const outcome = await this.#materialize({ packId: queue.packId, namespace: queue.namespace, receipts });
      if ('refused' in outcome) return { kind: 'refused', status: outcome.refused };
      if (outcome.length !== group.length)
        throw new Error('the store answered for another number of receipts');
      group.forEach((waiter, place) => {
        waiter.settle({ kind: 'stored', result: outcome[place]! });
      });
    } catch (error) {
      this.#options.onFailure(queue.packId, error);
      return { kind: isInfrastructure(error) ? 'unavailable' : 'failed', error };
    } finally {
      queue.committingSince = null;
    }
    this.#options.onCommitted({ packId: queue.packId, queueClasses: classesOf(receipts) });
    return null;
  }

  /** Async, so that a store which throws at once fails as one that rejects. */
  async #materialize(request: MaterializeRequest): ReturnType<Store['materialize']> {
    return this.#options.materialize(request);
  }

  #isOverdue(queue: PackQueue): boolean {
    const since = queue.committingSince;
    return since !== null && this.#options.clock.monotonic() - since >= this.#options.deadlineMs;
  }
}

const OUTAGES_OF_THE_STORE = 2;

function classesOf(receipts: readonly ReceiptDraft[]): readonly QueueClass[] {
  return [...new Set(receipts.flatMap(({ events }) => events.map(({ queueClass }) => queueClass)))];
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

function sumBytes(waiters: readonly Waiter[]): number {
  return waiters.reduce((sum, waiter) => sum + waiter.bytes, 0);
}
