/**
 * The one scanner of a pack incarnation in this process (SCH-1, SCH-2). Slots ask, it claims for all of them: each
 * scan for the waiting slots of one shape, whose permits it holds while it goes on (RSV-1).
 *
 *              a slot waits, and something may be claimable
 *   parked ──────────────────────────────────────▶ gathering ──next turn──▶ scanning
 *    ▲   │                                           ▲    ▲                  │  │
 *    │   │ a slot waits, nothing is known            │    └─full batch, wake─┘  │
 *    │   └───────────────▶ resting ──wake, return────┘                          │
 *    │                       ▲  └──timer──▶ scanning (peek first) ──────────────┤
 *    │                       └─────────── nothing found, store out or pressed ──┤
 *    └────────────────────────────────────── no slot waits, budget used ────────┘
 *   any ──stop()──▶ stopped; a scan in flight ends first, and what it claimed is given back
 *
 * Invariants: a scan starts in `gathering` or `resting` only, so there are never two; a line's `dirty` is cleared
 * before the claim is sent and looked at after it, so no wake is lost; a claim's token is kept, with its line, until it
 * was answered, so that a store can tell by it what an earlier, unanswered try has claimed.
 */
import type { Cancel } from '../core/clock.js';
import { newLeaseToken } from '../core/ids.js';
import { QUEUE_CLASSES, type QueueClass } from '../core/work.js';
import type { ClaimedItem, ClaimRequest, ClaimResult, PeekResult } from '../store/store.js';
import type { ClaimDecision } from './claim-limiter.js';
import type { ClaimSchedulerOptions } from './claim-scheduler-options.js';
import type { TurnTaker } from './limit-turns.js';
import { OutagePacing } from './outage-pacing.js';
import { claimRoom, claimScope, planClaim, type SchedulerView } from './plan.js';
import { lineToLook, lineToScan, ShapeLine } from './shape-line.js';
import { covers, type ExecutorShape, type ExecutorSlot, mayRun } from './shapes.js';

/** What a scan has reserved: of one shape, and gone when the scan is over. */
export interface Permits {
  readonly shape: ExecutorShape;
  readonly count: number;
}

/** The slots of one shape at this instant; more permits than waiting slots would be phantoms (RSV-1). */
export interface ShapeOccupancy {
  readonly shape: ExecutorShape['name'];
  /** Slots that wait for an item. */
  readonly waiting: number;
  /** How many of them the scan in flight has reserved. */
  readonly permits: number;
}

/** A claim that was sent and not answered. */
interface Unanswered<Work> {
  readonly token: string;
  readonly line: ShapeLine<Work>;
}

/** Expired leases are looked for all the same. */
const MOST_LIMITED_REST_MS = 1_000;

type Phase = 'parked' | 'gathering' | 'scanning' | 'resting' | 'stopped';

export class CentralClaimScheduler<Work> implements TurnTaker {
  readonly #options: ClaimSchedulerOptions<Work>;
  readonly #outage: OutagePacing;
  readonly #lines = new Map<ExecutorShape, ShapeLine<Work>>();
  readonly #busy = new Set<ExecutorSlot>();
  #phase: Phase = 'parked';
  #scans = 0;
  #permits: Permits | null = null;
  /** Items of the scan in flight. */
  #brought = 0;
  #stopping = false;
  #unanswered: Unanswered<Work> | null = null;
  /** Monotonic: no scan before; wakes do not cut it short. */
  #heldOffUntil = 0;
  #cancelRest: Cancel = () => undefined;
  #scan: Promise<void> = Promise.resolve();

  constructor(options: ClaimSchedulerOptions<Work>) {
    this.#options = options;
    this.#outage = new OutagePacing(options.random);
  }

  /** Nothing runs here, and the last look for every shape, made after the last wake, found nothing claimable. */
  get isIdle(): boolean {
    const settled = this.#phase === 'resting' && this.#busy.size === 0 && !this.#isHeldOff;
    return settled && [...this.#lines.values()].every((line) => !line.dirty);
  }

  /** What the scan in flight has reserved, for whoever watches (RSV-1); `null`: no scan. */
  get permits(): Permits | null {
    return this.#permits;
  }

  /** Of every shape whose slots have asked so far. */
  get occupancy(): readonly ShapeOccupancy[] {
    return [...this.#lines.values()].map(({ shape, waiting }) => ({
      shape: shape.name,
      waiting: waiting.length,
      permits: this.#permits?.shape === shape ? this.#permits.count : 0,
    }));
  }

  /**
   * The next item for this slot; resolves when there is one, `null` when the scheduler stops. Calling it again
   * says that the item given before is over, which frees its place in the budget and may have freed its lane.
   */
  claimNext(slot: ExecutorSlot): Promise<Work | null> {
    if (this.#busy.delete(slot)) {
      this.#soil();
      this.#options.turns?.freed();
    }
    if (this.#stopping) return Promise.resolve(null);
    return new Promise((give) => {
      this.#lineOf(slot.shape).waiting.push({ slot, give });
      this.#advance();
    });
  }

  /** Something of these classes may have become claimable: claim at once, or right after the scan in flight. */
  wake(queueClasses: readonly QueueClass[] = QUEUE_CLASSES): void {
    for (const line of this.#lines.values()) {
      if (!queueClasses.some((queueClass) => mayRun(line.shape, queueClass))) continue;
      line.dirty = true;
      line.announced = true;
    }
    this.#advance();
  }

  /**
   * Nobody said that something became claimable, and something may be: a scheduler that rests looks now instead of
   * later, at the price of that look alone. One that does anything else finds it anyway.
   */
  look(): void {
    const now = this.#options.clock.monotonic();
    const lookAt = lineToLook(this.#lines.values())?.lookAt ?? now;
    if (this.#phase !== 'resting' || this.#outage.failing || lookAt <= now) return;
    for (const line of this.#lines.values()) line.lookAt = Math.min(line.lookAt, now);
    this.#cancelRest();
    this.#rest();
  }

  takeTurn(): boolean {
    this.wake();
    return this.#phase === 'gathering' || this.#phase === 'scanning';
  }

  /** No scan starts any more and waiting slots get `null`. Resolves when a scan in flight has ended. Repeatable. */
  stop(): Promise<void> {
    this.#stopping = true;
    // Nobody waits any more: what the scan in flight brings is given back, not run.
    this.#permits = null;
    this.#cancelRest();
    this.#options.turns?.leave(this);
    if (this.#phase === 'parked' || this.#phase === 'resting') this.#phase = 'stopped';
    for (const line of this.#lines.values()) for (const { give } of line.waiting.splice(0)) give(null);
    return this.#scan;
  }

  #lineOf(shape: ExecutorShape): ShapeLine<Work> {
    const known = this.#lines.get(shape);
    if (known !== undefined) return known;
    const line = new ShapeLine<Work>(shape, this.#options.poll);
    this.#lines.set(shape, line);
    return line;
  }

  #soil(): void {
    for (const line of this.#lines.values()) line.dirty = true;
  }

  #advance(): void {
    const quiet = this.#phase === 'parked' || this.#phase === 'resting';
    if (!quiet || this.#room() === 0) return;
    if (!this.#isHeldOff && this.#next() !== null) this.#gather();
    else if (this.#phase === 'parked') this.#rest();
  }

  /** The store is failing or pressed: it is left alone for a while. */
  get #isHeldOff(): boolean {
    return this.#heldOffUntil > this.#options.clock.monotonic();
  }

  /** Items that any scan could bring. */
  #room(): number {
    let idle = 0;
    for (const line of this.#lines.values()) idle += line.waiting.length;
    return claimRoom({ ...this.#budget(), idle });
  }

  #budget(): Pick<SchedulerView, 'running' | 'processingBudget' | 'mode'> {
    return { running: this.#busy.size, processingBudget: this.#options.processingBudget, mode: 'any' };
  }

  /** Whose turn it is; an unanswered claim is asked again before anything else is claimed. */
  #next(): ShapeLine<Work> | null {
    return this.#unanswered?.line ?? lineToScan(this.#lines.values());
  }

  /** One turn later all slots that finish in this turn wait too, and one claim serves them. */
  #gather(): void {
    this.#cancelRest();
    this.#phase = 'gathering';
    this.#options.nextTurn(() => this.#startScan());
  }

  #rest(): void {
    const { clock } = this.#options;
    this.#phase = 'resting';
    const lookAt = lineToLook(this.#lines.values())?.lookAt ?? 0;
    const next = this.#isHeldOff ? this.#heldOffUntil : lookAt;
    this.#cancelRest = clock.after(Math.max(0, next - clock.monotonic()), () => this.#startScan());
  }

  #startScan(): void {
    const line = this.#next() ?? lineToLook(this.#lines.values());
    if (this.#stopping || line === null) {
      this.#phase = 'stopped';
      return;
    }
    this.#phase = 'scanning';
    this.#scan = this.#scanOnce(line);
  }

  /** Never rejects: whatever a look throws is an outage to wait out. */
  async #scanOnce(line: ShapeLine<Work>): Promise<void> {
    const { clock, packId, events, turns } = this.#options;
    const number = ++this.#scans;
    this.#brought = 0;
    line.denied = null;
    try {
      await turns?.mine(this);
      if (!this.#stopping) await this.#serve(line);
      this.#outage.answered();
    } catch (error) {
      this.#soil();
      this.#outage.failed();
      this.#holdOff(this.#outage.restMs);
      events.emit('scanFailed', { packId, error, retryInMs: this.#outage.restMs });
    }
    this.#permits = null;
    if (line.denied === null) line.scan = number;
    line.lookAt = clock.monotonic() + line.pacing.restMs();
    this.#phase = this.#stopping ? 'stopped' : 'parked';
    turns?.ended(this, { found: this.#brought > 0, denied: this.#isDenied });
    this.#advance();
  }

  /** A slot waits for work that the pack's own limit had no place for; a limit of its namespace keeps nobody else out. */
  get #isDenied(): boolean {
    if (this.#stopping) return false;
    return [...this.#lines.values()].some((line) => line.denied === 'pack' && line.waiting.length > 0);
  }

  /** Permits first, then a look unless there is reason to claim at once, then the claim; nothing is kept of them. */
  async #serve(line: ShapeLine<Work>): Promise<void> {
    const { shape, pacing } = line;
    const { kind, maxClaims: count } = this.#decide(line);
    if (kind === 'denied') return;
    this.#permits = { shape, count };
    // Fresh work stays where it is, and so does what is known of it.
    if (kind === 'stale_only') return await this.#takeOver(line, count);
    const atOnce = this.#unanswered !== null || (line.dirty && (line.announced || !pacing.isCold));
    this.#setDirty(shape, false);
    if (atOnce && ((await this.#claim(line, count)) > 0 || line.dirty)) return;
    if (this.#stopping || this.#isHeldOff) return;
    const seen = await this.#look(line);
    if (!seen.ready) {
      line.denied = null;
      return pacing.foundNothing(seen.nextInMs);
    }
    // A hint, which may turn out wrong and must not spin.
    if (atOnce || this.#stopping || (await this.#claim(line, count)) === 0) pacing.foundNothing(null);
  }

  #decide({ shape, waiting }: ShapeLine<Work>): ClaimDecision {
    const { packId, limiter, events } = this.#options;
    const asked = claimRoom({ ...this.#budget(), idle: waiting.length });
    const decision = limiter.decide(asked);
    this.#holdOff(decision.restMs);
    events.emit('claimDecided', { packId, shape, waiting: waiting.length, asked, decision });
    return decision;
  }

  /** Expired leases and nothing else; never a general claim, also where that is all the service can do (PRS-3). */
  async #takeOver(line: ShapeLine<Work>, permits: number): Promise<void> {
    const { reclaimStale } = this.#options.service;
    const plan = planClaim({ ...this.#view(line, permits), mode: 'stale' });
    if (reclaimStale !== undefined && plan.kind === 'claim') await this.#ask(line, plan.request);
  }

  /** Of what a scan for this shape sees, others may have seen less. */
  #setDirty(shape: ExecutorShape, dirty: boolean): void {
    for (const line of this.#lines.values()) {
      if (!covers(shape, line.shape)) continue;
      line.dirty = dirty;
      line.announced = false;
    }
  }

  /** The idle poll: one cheap question. */
  async #look(line: ShapeLine<Work>): Promise<PeekResult> {
    const { packId, generation, service, events } = this.#options;
    const { shape } = line;
    const seen = await service.peek(claimScope({ packId, generation, shape }));
    events.emit('scanned', { packId, kind: 'peek', shape: shape.name, asked: 0, result: null });
    return seen;
  }

  /** @returns the items it brought */
  async #claim(line: ShapeLine<Work>, permits: number): Promise<number> {
    const plan = planClaim(this.#view(line, permits));
    return plan.kind === 'wait' ? 0 : await this.#ask(line, plan.request);
  }

  async #ask(line: ShapeLine<Work>, request: ClaimRequest): Promise<number> {
    const { packId, service, clock, events, foreground } = this.#options;
    await foreground.turn();
    if (this.#stopping) return 0;
    const sentAt = clock.monotonic();
    this.#unanswered = { token: request.token, line };
    const stale = request.mode === 'stale';
    const result = await (stale ? service.reclaimStale!(request) : service.claim(request));
    this.#unanswered = null;
    this.#brought += result.items.length;
    const asked = request.maxClaims;
    const kind = stale ? 'reclaim' : 'claim';
    events.emit('scanned', { packId, kind, shape: line.shape.name, asked, result });
    if (result.items.length >= asked) this.#setDirty(line.shape, true);
    if (result.items.length > 0) {
      // Whoever gets an item waits no more, and the scan is over: nothing stays reserved beyond them.
      this.#permits = null;
      line.found();
    }
    line.denied = deniedBy(result);
    this.#heedLimits(result);
    await this.#handOut(line, result.items, sentAt);
    return result.items.length;
  }

  /** The pack's own rates are used up: no wake can bring anything before they allow a start again. */
  #heedLimits({ limitedForMs }: ClaimResult): void {
    if (limitedForMs === null) return;
    this.#holdOff(Math.min(limitedForMs, MOST_LIMITED_REST_MS));
  }

  /** No scan before so many milliseconds have passed; a longer rest that was decided before stands. */
  #holdOff(forMs: number): void {
    this.#heldOffUntil = Math.max(this.#heldOffUntil, this.#options.clock.monotonic() + forMs);
  }

  #view({ shape, preference }: ShapeLine<Work>, idle: number): SchedulerView {
    const { packId, generation, limits, runnable = null, leaseMs, holder, random } = this.#options;
    const unanswered = this.#unanswered;
    return {
      ...this.#budget(),
      packId,
      generation,
      shape,
      preference,
      idle,
      limits,
      runnable,
      leaseMs,
      token: unanswered?.token ?? newLeaseToken(random),
      repeat: unanswered !== null,
      holder,
    };
  }

  async #handOut(line: ShapeLine<Work>, items: readonly ClaimedItem[], sentAt: number): Promise<void> {
    const taken = items.slice(0, line.waiting.length);
    if (taken.length > 0) this.#give(line, taken, sentAt);
    if (taken.length === items.length) return;
    await this.#options.release(items.slice(taken.length));
    this.#options.turns?.freed();
  }

  #give(line: ShapeLine<Work>, items: readonly ClaimedItem[], sentAt: number): void {
    this.#options.events.emit('claimed', { items });
    const works = this.#options.accept(items, sentAt);
    const takers = line.waiting.splice(0, works.length);
    for (const [place, { slot, give }] of takers.entries()) {
      this.#busy.add(slot);
      give(works[place]!);
    }
  }
}

function deniedBy({ items, limitedBy }: ClaimResult): ShapeLine<unknown>['denied'] {
  if (items.length > 0) return null;
  return (['pack', 'namespace'] as const).find((scope) => limitedBy.includes(scope)) ?? null;
}
