/**
 * The one scanner of a pack incarnation in this process (SCH-1, SCH-2). Slots ask, it claims for all of them.
 *
 *              a slot waits, and something may be claimable
 *   parked ──────────────────────────────────────▶ gathering ──next turn──▶ scanning
 *    ▲   │                                           ▲    ▲                  │  │
 *    │   │ a slot waits, nothing is known            │    └─full batch, wake─┘  │
 *    │   └───────────────▶ resting ──wake, return────┘                          │
 *    │                       ▲  └──timer──▶ scanning (peek first) ──────────────┤
 *    │                       └─────────────── nothing found, store out ─────────┤
 *    └────────────────────────────────────── no slot waits, budget used ────────┘
 *   any ──stop()──▶ stopped; a scan in flight ends first, and what it claimed is given back
 *
 * Invariants: a scan starts in `gathering` or `resting` only, so there are never two; `dirty` is cleared before
 * the claim is sent and looked at after it, so no wake is lost; a claim's token is kept until it was answered, so
 * that a store can tell by it what an earlier, unanswered try has claimed.
 */
import type { Cancel, Clock, NextTurn } from '../core/clock.js';
import { newLeaseToken } from '../core/ids.js';
import type { Random } from '../core/random.js';
import type { ClaimedItem, WorkItemService } from '../store/store.js';
import { type ClaimPlan, claimRoom, claimScope, type ExecutorSlot, planClaim } from './plan.js';
import { type PollLimits, ScanPacing } from './scan-pacing.js';
import type { WorkEvents } from './work-events.js';

export interface ClaimSchedulerOptions<Work> {
  readonly service: Pick<WorkItemService, 'peek' | 'claim'>;
  readonly packId: number;
  readonly generation: number;
  readonly processingBudget: number;
  readonly leaseMs: number;
  readonly poll: PollLimits;
  /** Who claims, for people. */
  readonly holder: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly nextTurn: NextTurn;
  readonly events: WorkEvents;
  /**
   * Makes a claim's items executable, in order, before any slot has one. `sentAt`: monotonic time at which the
   * claim was sent, from which its leases count.
   */
  readonly accept: (items: readonly ClaimedItem[], sentAt: number) => readonly Work[];
  /** Gives items back that no slot can take; costs no attempt of their budget. */
  readonly release: (items: readonly ClaimedItem[]) => Promise<void>;
}

interface WaitingSlot<Work> {
  readonly slot: ExecutorSlot;
  readonly give: (work: Work | null) => void;
}

type Phase = 'parked' | 'gathering' | 'scanning' | 'resting' | 'stopped';

export class CentralClaimScheduler<Work> {
  readonly #options: ClaimSchedulerOptions<Work>;
  readonly #pacing: ScanPacing;
  readonly #busy = new Set<ExecutorSlot>();
  #waiting: WaitingSlot<Work>[] = [];
  #phase: Phase = 'parked';
  #dirty = true;
  #stopping = false;
  /** Of a claim that was sent and not answered. */
  #unanswered: string | null = null;
  #cancelRest: Cancel = () => undefined;
  #scan: Promise<void> = Promise.resolve();

  constructor(options: ClaimSchedulerOptions<Work>) {
    this.#options = options;
    this.#pacing = new ScanPacing(options.poll, options.random);
  }

  /** Nothing runs here, and the last look, made after the last wake, found nothing claimable. */
  get isIdle(): boolean {
    return this.#phase === 'resting' && this.#busy.size === 0 && !this.#dirty && !this.#pacing.failing;
  }

  /**
   * The next item for this slot; resolves when there is one, `null` when the scheduler stops. Calling it again
   * says that the item given before is over, which frees its place in the budget and may have freed its lane.
   */
  claimNext(slot: ExecutorSlot): Promise<Work | null> {
    if (this.#busy.delete(slot)) this.#dirty = true;
    if (this.#stopping) return Promise.resolve(null);
    return new Promise((give) => {
      this.#waiting.push({ slot, give });
      this.#advance();
    });
  }

  /** Something may have become claimable: look at once, or right after the look in flight. */
  wake(): void {
    this.#dirty = true;
    this.#advance();
  }

  /** No scan starts any more and waiting slots get `null`. Resolves when a scan in flight has ended. Repeatable. */
  stop(): Promise<void> {
    this.#stopping = true;
    this.#cancelRest();
    if (this.#phase === 'parked' || this.#phase === 'resting') this.#phase = 'stopped';
    for (const { give } of this.#waiting.splice(0)) give(null);
    return this.#scan;
  }

  #advance(): void {
    const quiet = this.#phase === 'parked' || this.#phase === 'resting';
    if (!quiet || this.#waiting.length === 0 || this.#room() === 0) return;
    if (this.#dirty && !this.#pacing.failing) this.#gather();
    else if (this.#phase === 'parked') this.#rest();
  }

  #room(): number {
    const { processingBudget } = this.#options;
    return claimRoom({ running: this.#busy.size, processingBudget, mode: 'any' }, this.#waiting.length);
  }

  /** One turn later all slots that finish in this turn wait too, and one claim serves them. */
  #gather(): void {
    this.#cancelRest();
    this.#phase = 'gathering';
    this.#options.nextTurn(() => this.#startScan());
  }

  #rest(): void {
    this.#phase = 'resting';
    this.#cancelRest = this.#options.clock.after(this.#pacing.restMs(), () => this.#startScan());
  }

  #startScan(): void {
    if (this.#stopping) {
      this.#phase = 'stopped';
      return;
    }
    this.#phase = 'scanning';
    this.#scan = this.#scanOnce();
  }

  /** Never rejects: whatever a look throws is an outage to wait out. */
  async #scanOnce(): Promise<void> {
    try {
      if (this.#dirty) await this.#claimAtOnce();
      else if (await this.#look()) await this.#claimSeen();
      this.#pacing.answered();
    } catch (error) {
      this.#dirty = true;
      const retryInMs = this.#pacing.failed();
      this.#options.events.emit('scanFailed', { packId: this.#options.packId, error, retryInMs });
    }
    this.#phase = this.#stopping ? 'stopped' : 'parked';
    this.#advance();
  }

  /** After a wake. If it brought nothing, a look tells how long to rest: what was enqueued may be due later. */
  async #claimAtOnce(): Promise<void> {
    if ((await this.#claim()) !== 0 || this.#dirty) return;
    if (await this.#look()) this.#pacing.foundNothing(null);
  }

  /** After a look said ready: a hint, which may turn out wrong and must not spin. */
  async #claimSeen(): Promise<void> {
    if ((await this.#claim()) === 0) this.#pacing.foundNothing(null);
  }

  /** The idle poll: one cheap question. */
  async #look(): Promise<boolean> {
    const first = this.#waiting[0];
    if (first === undefined) return false;
    const { packId, service, events } = this.#options;
    const seen = await service.peek(claimScope(this.#options, first.slot));
    events.emit('scanned', { packId, kind: 'peek', asked: 0, result: null });
    if (!seen.ready) this.#pacing.foundNothing(seen.nextInMs);
    return seen.ready && !this.#stopping;
  }

  /** Items claimed; `null` when there was no room to ask for any. */
  async #claim(): Promise<number | null> {
    const plan = this.#plan();
    if (plan.kind === 'wait') return null;
    const { packId, service, clock, events } = this.#options;
    const asked = plan.request.maxClaims;
    this.#dirty = false;
    const sentAt = clock.monotonic();
    this.#unanswered = plan.request.token;
    const result = await service.claim(plan.request);
    this.#unanswered = null;
    events.emit('scanned', { packId, kind: 'claim', asked, result });
    if (result.items.length >= asked) this.#dirty = true;
    if (result.items.length > 0) this.#pacing.found();
    await this.#handOut(result.items, sentAt);
    return result.items.length;
  }

  #plan(): ClaimPlan {
    const unanswered = this.#unanswered;
    return planClaim({
      packId: this.#options.packId,
      generation: this.#options.generation,
      idle: this.#waiting.map((waiting) => waiting.slot),
      running: this.#busy.size,
      processingBudget: this.#options.processingBudget,
      mode: 'any',
      leaseMs: this.#options.leaseMs,
      token: unanswered ?? newLeaseToken(this.#options.random),
      repeat: unanswered !== null,
      holder: this.#options.holder,
    });
  }

  async #handOut(items: readonly ClaimedItem[], sentAt: number): Promise<void> {
    const taken = items.slice(0, this.#waiting.length);
    if (taken.length > 0) this.#give(taken, sentAt);
    if (taken.length < items.length) await this.#options.release(items.slice(taken.length));
  }

  #give(items: readonly ClaimedItem[], sentAt: number): void {
    this.#options.events.emit('claimed', { items });
    const works = this.#options.accept(items, sentAt);
    const takers = this.#waiting.splice(0, works.length);
    for (const [place, { slot, give }] of takers.entries()) {
      this.#busy.add(slot);
      give(works[place]!);
    }
  }
}
