/** The pools of one process, watched: every scan, what it reserves and what becomes of it. */
import { QUEUE_CLASSES, type QueueClass } from '../../src/core/work.js';
import type { Workers } from '../../src/runtime/installations.js';
import type { ClaimedItem, ClaimRequest, StorePressure } from '../../src/store/store.js';
import type { PackPool } from '../../src/supervisor/pack-pool.js';
import type { Supervisor } from '../../src/supervisor/supervisor.js';
import { leaseKey } from './ledger.js';
import { LimiterRules, ProbeRecord } from './limiter-rules.js';
import type { Breach } from './row-audit.js';
import type { Scene } from './scene.js';
import { SlotRules } from './slot-rules.js';
import type { Thread } from './world.js';

/** One pool, as it is seen from outside. */
export interface WatchedPool {
  readonly name: string;
  readonly packId: number;
  readonly generation: number;
  readonly slots: SlotRules;
  readonly limiter: LimiterRules;
  /** When it last claimed fresh work of each class; of the world. */
  readonly claimedAt: Map<QueueClass, number>;
  /** It has a reason to scan for nothing until then; of the world. */
  restsUntil: number;
}

export interface WatchedProcess {
  readonly name: string;
  readonly main: Thread;
  readonly gone: boolean;
  readonly isDraining: boolean;
}

/** What is given back is reported within that, when nothing is in the way. */
const BACK_MS = 300;
/** An outcome is offered for as long as a lease could be believed, and longer. */
const GIVE_UP_LEASES = 2;
/** Of a scan that is in flight, when nothing is in its way. */
const WAKE_MS = 500;
/** Rates that are used up are looked at again so often. */
const MOST_LIMITED_REST_MS = 1_000;

export class WorkWatch {
  readonly #scene: Scene;
  readonly #process: WatchedProcess;
  readonly #supervisor: Supervisor;
  readonly #probes = new ProbeRecord();
  readonly #watched = new Map<PackPool, WatchedPool>();
  /** Claimed, and not yet started or given back. */
  readonly #unstarted = new Set<string>();

  constructor(scene: Scene, process: WatchedProcess, supervisor: Supervisor) {
    this.#scene = scene;
    this.#process = process;
    this.#supervisor = supervisor;
    this.#listen();
    this.#judgeOutcomes();
  }

  /** Those that claim. */
  get pools(): readonly WatchedPool[] {
    return [...this.#supervisor.pools.values()].map((pool) => this.#of(pool));
  }

  /** The supervisor, for whoever reconciles it. @param changing called while a pool of it ends its last scan */
  followed(changing: () => void): Workers {
    const supervisor = this.#supervisor;
    const look = (): void => {
      if ([...supervisor.pools.values()].some(({ isRunning }) => !isRunning)) changing();
    };
    return {
      get isSound() {
        return supervisor.isSound;
      },
      reconcile: (served) => {
        this.#scene.world.after(0, this.#process.main, look);
        return supervisor.reconcile(served);
      },
    };
  }

  /** A statement of a scan is about to be asked for; `null`: a look. @returns who asks */
  asks(packId: number, request: ClaimRequest | null): string {
    const pool = this.#supervisor.pools.get(packId);
    if (pool === undefined) return this.#process.name;
    const watched = this.#of(pool);
    watched.slots.asks(request, pool.scheduler.permits);
    if (request !== null && request.mode !== 'stale') {
      const { queueClasses } = request;
      for (const queueClass of queueClasses.length > 0 ? queueClasses : QUEUE_CLASSES)
        watched.claimedAt.set(queueClass, this.#scene.world.now);
    }
    return watched.name;
  }

  /** Work conservation: a pool with a slot free for what it is told of claims at once, or after the scan in flight. */
  woken(packId: number, queueClasses: readonly QueueClass[]): void {
    const { world, hardships } = this.#scene;
    const { name, main } = this.#process;
    const pool = this.#supervisor.pools.get(packId);
    if (pool === undefined) return;
    const watched = this.#of(pool);
    const since = world.now;
    const free = (queueClass: QueueClass): boolean => watched.slots.freeFor(queueClass) > 0;
    const told = queueClasses.filter(free);
    world.after(WAKE_MS, main, () => {
      const restsUntil = Math.max(watched.restsUntil, watched.limiter.restsUntil);
      const hinderedAt = Math.max(restsUntil, hardships.statements.lastOf(name), main.pausedUntil);
      if (this.#process.gone || !pool.isRunning || hinderedAt >= since) return;
      const late = told.find((one) => free(one) && (watched.claimedAt.get(one) ?? 0) < since);
      if (late !== undefined)
        this.#breach(['idle_slot', `told of ${late} work, and did not claim in ${WAKE_MS} ms`]);
    });
  }

  async probe(): Promise<StorePressure> {
    const { world, pressure } = this.#scene;
    this.#probes.asked(world.now);
    try {
      const reading = await pressure.probe();
      this.#probes.answered(reading);
      return reading;
    } catch (error) {
      this.#probes.answered(null);
      throw error;
    }
  }

  #of(pool: PackPool): WatchedPool {
    const known = this.#watched.get(pool);
    if (known !== undefined) return known;
    const { settings, installed } = pool.plan;
    const { queueProfile, workersPerPack, maxProcessingRows, pressure } = settings;
    const slots = new SlotRules(queueProfile, workersPerPack, maxProcessingRows, this.#breach);
    const name = `${this.#process.name}/${this.#watched.size}`;
    const { packId, generation } = installed;
    const limiter = new LimiterRules(pressure, this.#probes);
    const restsUntil = this.#scene.world.now;
    const watched = { name, packId, generation, slots, limiter, claimedAt: new Map(), restsUntil };
    this.#watched.set(pool, watched);
    return watched;
  }

  readonly #breach = ([kind, why]: Breach): void => {
    if (!this.#process.isDraining) this.#scene.world.violation(kind, this.#process.name, why);
  };

  #listen(): void {
    const { events, pools } = this.#supervisor;
    const { world } = this.#scene;
    events.on('claimDecided', (event) => {
      const pool = pools.get(event.packId);
      if (pool === undefined) return this.#breach(['out_of_service', 'a scan without a pool']);
      const { slots, limiter } = this.#of(pool);
      slots.decided(event, pool.scheduler.permits);
      for (const breach of limiter.decided(event.decision, event.asked, world.now)) this.#breach(breach);
    });
    events.on('scanned', ({ packId, result, asked }) => {
      const pool = pools.get(packId);
      if (pool === undefined || result === null) return;
      const watched = this.#of(pool);
      watched.slots.brought(result.items, asked);
      if (result.limitedForMs !== null)
        this.#rests(packId, Math.min(result.limitedForMs, MOST_LIMITED_REST_MS));
      this.#expect(result.items);
    });
    events.on('scanFailed', ({ packId, retryInMs }) => this.#rests(packId, retryInMs));
    events.on('claimed', ({ items }) => {
      const pool = pools.get(items[0]!.packId);
      if (pool !== undefined) this.#of(pool).slots.claimed(items);
    });
    events.on('started', ({ item }) => this.#unstarted.delete(keyOf(item)));
    for (const end of ['finished', 'lost', 'unreported'] as const)
      events.on(end, ({ item }) => this.#freed(item));
  }

  #judgeOutcomes(): void {
    const { events } = this.#supervisor;
    const { world, ledger, audit, settings } = this.#scene;
    events.on('abandoned', ({ item }) => {
      const name = audit.mirror.items.get(item.lease.workId)!.item;
      const run = ledger.run(name, item.lease.epoch);
      if (run !== undefined) ledger.abandoned(run);
    });
    events.on('unreported', ({ item }) => {
      const run = ledger.run(audit.mirror.items.get(item.lease.workId)!.item, item.lease.epoch);
      const offeredMs = world.now - (run?.endedAt ?? 0);
      if (
        run !== undefined &&
        !run.abandoned &&
        !this.#process.isDraining &&
        offeredMs < GIVE_UP_LEASES * settings.leaseMs
      )
        world.violation('wrong_outcome', run.item, `its outcome was given up after ${offeredMs} ms`);
    });
    events.on('slotCrashed', ({ error }) =>
      world.violation('bug', this.#process.name, `a slot crashed: ${(error as Error).stack}`),
    );
  }

  #rests(packId: number, forMs: number): void {
    const pool = this.#supervisor.pools.get(packId);
    if (pool === undefined) return;
    const watched = this.#of(pool);
    watched.restsUntil = Math.max(watched.restsUntil, this.#scene.world.now + forMs);
  }

  #freed(item: ClaimedItem): void {
    for (const { slots } of this.#watched.values()) if (slots.freed(item)) return;
  }

  /** RSV-1: what a permit brought runs, or is given back. */
  #expect(items: readonly ClaimedItem[]): void {
    const { world, ledger, hardships } = this.#scene;
    const since = world.now;
    for (const item of items) this.#unstarted.add(keyOf(item));
    world.after(BACK_MS, this.#process.main, () => {
      const idle = items.find(
        (item) => this.#unstarted.has(keyOf(item)) && ledger.reportedAt(keyOf(item)) === undefined,
      );
      const isHindered = hardships.statements.lastOf(this.#process.name) >= since;
      if (idle !== undefined && !this.#process.gone && !isHindered)
        this.#breach(['phantom_permit', `claimed ${keyOf(idle)}, and neither runs it nor gives it back`]);
    });
  }
}

const keyOf = ({ lease }: ClaimedItem): string => leaseKey(lease.workId, lease.epoch, lease.token);
