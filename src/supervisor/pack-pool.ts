import { setMaxListeners } from 'node:events';
import type { Clock, NextTurn } from '../core/clock.js';
import type { Foreground } from '../core/foreground.js';
import type { Random } from '../core/random.js';
import type { Tracing } from '../core/tracing.js';
import { compareVersions } from '../core/versions.js';
import type { QueueClass } from '../core/work.js';
import type { CallWatch } from '../executor/call-watch.js';
import { Executor } from '../executor/executor.js';
import type { Finalizer } from '../executor/finalizer.js';
import type { LeaseHandle } from '../executor/lease-handle.js';
import type { WorkRun } from '../executor/work-run.js';
import type { FlowLog, Pack } from '../packs/types.js';
import { CentralClaimScheduler } from '../scheduler/central-claim-scheduler.js';
import { ClaimLimiter } from '../scheduler/claim-limiter.js';
import type { LimitTurns } from '../scheduler/limit-turns.js';
import type { PressureGauge } from '../scheduler/pressure-gauge.js';
import { type ExecutorSlot, executorSlots } from '../scheduler/shapes.js';
import type { WorkEvents } from '../scheduler/work-events.js';
import type { ClaimLimits, Store, WorkItemService } from '../store/store.js';
import type { PoolPlan } from './pool-plan.js';
import { ReadinessRepair } from './readiness-repair.js';
import { runSlot } from './slot.js';
import type { SupervisorSettings } from './supervisor-settings.js';

/** What all pools of a process share. */
export interface PoolParts {
  readonly store: WorkItemService & Pick<Store, 'repairReadiness'>;
  readonly gauge: PressureGauge;
  /** By pack name. */
  readonly turnsOf: (pack: string) => LimitTurns;
  readonly foreground: Foreground;
  readonly settings: SupervisorSettings;
  readonly clock: Clock;
  readonly random: Random;
  readonly nextTurn: NextTurn;
  readonly log: FlowLog;
  readonly events: WorkEvents;
  readonly leases: LeaseHandle;
  readonly watch: CallWatch;
  readonly finalizer: Finalizer;
  readonly holder: string;
  readonly tracing: Tracing | null;
}

/** One incarnation of a pack in this process: one scheduler, its slots, and the sweep over its marks (SCH-1). */
export class PackPool {
  readonly plan: PoolPlan;
  readonly scheduler: CentralClaimScheduler<WorkRun>;
  readonly #parts: PoolParts;
  readonly #limits: ClaimLimits | null;
  readonly #executor: Executor;
  readonly #repair: ReadinessRepair;
  readonly #stopped = new AbortController();
  #slots: Promise<unknown> = Promise.resolve();
  #broken = false;

  constructor(parts: PoolParts, plan: PoolPlan) {
    const { pack, installed } = plan;
    this.#parts = parts;
    this.plan = plan;
    this.#limits = pack.limits && { packName: pack.name, ...pack.limits };
    this.#executor = new Executor({
      ...parts,
      service: parts.store,
      leaseMs: parts.settings.leaseMs,
      namespace: installed.namespace,
      pack,
      isBehind: this.#isBehind,
    });
    this.scheduler = this.#makeScheduler();
    this.#repair = this.#makeRepair();
  }

  get #isBehind(): boolean {
    const { pack, installed } = this.plan;
    return compareVersions(pack.version, installed.version) < 0;
  }

  get isIdle(): boolean {
    return this.scheduler.isIdle;
  }

  /** Every slot is there to take work; a pool that has lost one does not get it back. */
  get isRunning(): boolean {
    return !this.#broken && !this.#stopped.signal.aborted;
  }

  start(): void {
    const { settings } = this.plan;
    setMaxListeners(settings.workersPerPack, this.#stopped.signal);
    const slots = executorSlots(settings.queueProfile, settings.workersPerPack);
    this.#slots = Promise.all(slots.map((slot) => this.#runSlot(slot)));
    this.#repair.start();
  }

  wake(queueClasses?: readonly QueueClass[]): void {
    this.scheduler.wake(queueClasses);
  }

  /** Nobody said that something is there: one question tells. */
  look(): void {
    this.scheduler.look();
  }

  /** Resolves when no scan runs and none will; items in execution go on. Repeatable. */
  async stopScanning(): Promise<void> {
    this.#stopped.abort();
    await Promise.all([this.scheduler.stop(), this.#repair.stop()]);
  }

  /** Resolves when the last slot has finished its item. Repeatable; safe before `start`. */
  async stop(): Promise<void> {
    await Promise.all([this.stopScanning(), this.#slots]);
  }

  /** Never rejects: what `runSlot` does not contain costs the pool, not the process. */
  async #runSlot(slot: ExecutorSlot): Promise<void> {
    const { clock, random, events, log } = this.#parts;
    const { packId } = this.plan.installed;
    try {
      await runSlot(slot, {
        scheduler: this.scheduler,
        execute: (run: WorkRun) => this.#executor.execute(run),
        contain: (run: WorkRun, thrown: unknown) => this.#executor.contain(run, thrown),
        onCrash: (error: unknown, restartInMs: number) =>
          events.emit('slotCrashed', { packId, error, restartInMs }),
        clock,
        random,
        stopped: this.#stopped.signal,
      });
    } catch (error) {
      this.#broken = true;
      log.error('an executor slot ended, and its pool with it', { packId, error: String(error) });
    }
  }

  #makeScheduler(): CentralClaimScheduler<WorkRun> {
    const { store, gauge, clock, foreground } = this.#parts;
    const { settings, installed } = this.plan;
    const { packId, generation } = installed;
    return new CentralClaimScheduler<WorkRun>({
      ...this.#parts,
      service: store,
      limiter: new ClaimLimiter({
        limits: settings.pressure,
        read: () => gauge.read(),
        isAdmitting: () => foreground.isActive,
        clock,
      }),
      packId,
      generation,
      processingBudget: settings.maxProcessingRows,
      limits: this.#limits,
      runnable: { routes: newestVersions(this.plan.pack), isBehind: this.#isBehind },
      turns: this.#limits?.pack ? this.#parts.turnsOf(this.plan.pack.name) : null,
      leaseMs: settings.leaseMs,
      poll: settings.poll,
      accept: (items, sentAt) => this.#executor.accept(items, sentAt),
      release: (items) => this.#executor.release(items),
    });
  }

  #makeRepair(): ReadinessRepair {
    const { store, clock, events, log } = this.#parts;
    const { settings, installed } = this.plan;
    const { packId } = installed;
    return new ReadinessRepair({
      store,
      packId,
      clock,
      everyMs: settings.repairEveryMs,
      onRepaired: (marks) => {
        events.emit('repaired', { packId, marks });
        this.scheduler.wake();
      },
      onError: (error) => log.warn('readiness repair failed', { packId, error: String(error) }),
    });
  }
}

function newestVersions({ routes }: Pack): Record<string, number> {
  return Object.fromEntries([...routes.values()].map(({ name, version }) => [name, version]));
}
