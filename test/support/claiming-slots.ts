import { systemNextTurn } from '../../src/core/system.js';
import { CentralClaimScheduler, type Permits } from '../../src/scheduler/central-claim-scheduler.js';
import type { ClaimDecision } from '../../src/scheduler/claim-limiter.js';
import type { LimitTurns } from '../../src/scheduler/limit-turns.js';
import { DEFAULT_POLL } from '../../src/scheduler/scan-pacing.js';
import { type ExecutorSlot, executorSlots } from '../../src/scheduler/shapes.js';
import { WorkEvents } from '../../src/scheduler/work-events.js';
import type { ClaimedItem, ClaimLimits, ClaimScope, InstalledPack } from '../../src/store/store.js';
import { LEASE_MS, type WorkBench } from './work-bench.js';

/** Any class, no affinity. */
const SHARED = executorSlots('reserved', 4).at(-1)!.shape;

/** Slots that take whatever is oldest. */
export const sharedSlots = (count: number): ExecutorSlot[] =>
  Array.from({ length: count }, (_, id) => ({ id, shape: SHARED }));

export interface SlotRun {
  readonly slot: ExecutorSlot;
  readonly item: ClaimedItem;
}

/** A scan as the store saw it, with what the scheduler had reserved then. */
export interface SeenScan {
  readonly verb: 'peek' | 'claim' | 'reclaim';
  readonly scope: ClaimScope;
  readonly permits: Permits | null;
  /** Slots of the reserved shape that waited, and slots of any shape that ran something. */
  readonly waiting: number;
  readonly running: number;
}

export interface ClaimingOptions {
  /** Default: the bench's own. */
  readonly installed?: InstalledPack;
  readonly processingBudget?: number;
  readonly limits?: ClaimLimits | null;
  /** Shared with others under the same limits. */
  readonly turns?: LimitTurns | null;
  /** False: a service that cannot take over expired leases by themselves. */
  readonly takesOver?: boolean;
}

export const granted = (asked: number): ClaimDecision => ({
  kind: 'granted',
  probe: null,
  maxClaims: asked,
  restMs: 0,
});

/** Slots without executors: each keeps what it is given until `finish`. */
export class ClaimingSlots {
  readonly scheduler: CentralClaimScheduler<ClaimedItem>;
  readonly running: SlotRun[] = [];
  readonly released: ClaimedItem[] = [];
  readonly scans: SeenScan[] = [];
  ended = 0;
  /** From when on the leases of the last claim count; monotonic. */
  claimSentAt: number | null = null;
  readonly #bench: WorkBench;
  readonly #slots: readonly ExecutorSlot[];

  /** What the next scans may do; by default all they ask for. */
  decide: (asked: number) => ClaimDecision = granted;
  /** When the next claim may begin; by default at once. */
  turn: () => Promise<void> = async () => undefined;

  constructor(bench: WorkBench, slots: readonly ExecutorSlot[], options: ClaimingOptions = {}) {
    const { processingBudget = 256, limits = null, turns = null, takesOver = true } = options;
    this.#bench = bench;
    this.#slots = slots;
    const { clock, random, store } = bench;
    const { installed = bench.installed } = options;
    this.scheduler = new CentralClaimScheduler<ClaimedItem>({
      service: {
        peek: (scope) => this.#seen('peek', scope, store.peek(scope)),
        claim: (request) => this.#seen('claim', request, store.claim(request)),
        ...(takesOver && {
          reclaimStale: (request) => this.#seen('reclaim', request, store.reclaimStale(request)),
        }),
      },
      limiter: { decide: (asked) => this.decide(asked) },
      foreground: { turn: () => this.turn() },
      packId: installed.packId,
      generation: installed.generation,
      processingBudget,
      limits,
      turns,
      leaseMs: LEASE_MS,
      poll: DEFAULT_POLL,
      holder: 'test',
      clock,
      random,
      nextTurn: systemNextTurn,
      events: new WorkEvents(),
      accept: (items, sentAt) => {
        this.claimSentAt = sentAt;
        return items;
      },
      release: (items) => this.#release(items),
    });
    for (const slot of slots) this.ask(slot);
  }

  ask(slot: ExecutorSlot): void {
    void this.scheduler.claimNext(slot).then((item) => {
      if (item === null) this.ended++;
      else this.running.push({ slot, item });
    });
  }

  /** Completes what runs, or so many of it; the slots ask again, all in one turn. */
  async finish(count = this.running.length): Promise<void> {
    const runs = this.running.splice(0, count);
    await this.#bench.store.finalize(
      runs.map(({ item }) => ({ lease: item.lease, outcome: { kind: 'completed' } })),
    );
    for (const { slot } of runs) this.ask(slot);
  }

  async #seen<T>(verb: SeenScan['verb'], scope: ClaimScope, answer: Promise<T>): Promise<T> {
    const { permits } = this.scheduler;
    const busy = new Set(this.running.map(({ slot }) => slot));
    const waiting = this.#slots.filter((slot) => slot.shape === permits?.shape && !busy.has(slot)).length;
    this.scans.push({ verb, scope, permits, waiting, running: busy.size });
    return await answer;
  }

  async #release(items: readonly ClaimedItem[]): Promise<void> {
    this.released.push(...items);
    await this.#bench.store.finalize(
      items.map(({ lease }) => ({ lease, outcome: { kind: 'released', reason: 'test' } })),
    );
  }
}
