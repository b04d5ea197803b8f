/**
 *   new ──start()──▶ running ──stop()──▶ draining ──all slots ended──▶ closing ──▶ stopped
 *    │                                      └──timeout──▶ aborting ──▶ closing
 *    └──stop()──▶ closing ──▶ stopped; a start() after any stop() does nothing
 *
 * draining: no scan, nothing aborted; leases are renewed and outcomes finalized as ever.
 * aborting: signals abort; what never ran is released, what settles is reported, what does neither is abandoned.
 * closing:  outcomes that could not be stored are given up, then leases are no longer renewed.
 */
import type { Clock, NextTurn } from '../core/clock.js';
import { LaneheadError } from '../core/errors.js';
import { Foreground } from '../core/foreground.js';
import type { Random } from '../core/random.js';
import type { Tracing } from '../core/tracing.js';
import type { QueueClass } from '../core/work.js';
import { CallWatch } from '../executor/call-watch.js';
import { Finalizer } from '../executor/finalizer.js';
import { LeaseHandle } from '../executor/lease-handle.js';
import type { MainLink } from '../executor/lease-protocol.js';
import type { FlowLog, Pack } from '../packs/types.js';
import { LimitTurns } from '../scheduler/limit-turns.js';
import { PressureGauge } from '../scheduler/pressure-gauge.js';
import { WorkEvents } from '../scheduler/work-events.js';
import type { InstalledPack, Store, WorkItemService } from '../store/store.js';
import { logWorkEvents } from './log-work-events.js';
import type { PackPool, PoolParts } from './pack-pool.js';
import type { PoolPlan, PoolSettings } from './pool-plan.js';
import { PoolSet } from './pool-set.js';
import {
  CONSERVATIVE_WORKERS_PER_PACK,
  type SupervisorInput,
  type SupervisorSettings,
  supervisorSettings,
} from './supervisor-settings.js';

export interface SupervisedPack {
  readonly pack: Pack;
  readonly installed: InstalledPack;
  /** Of this pack alone. Default: the supervisor's. */
  readonly settings?: Partial<PoolSettings>;
}

export interface SupervisorOptions {
  readonly store: WorkItemService & Pick<Store, 'repairReadiness' | 'pressure'>;
  readonly packs: readonly SupervisedPack[];
  readonly settings?: SupervisorInput;
  /** Leads to a lease keeper: in the store's thread, in one of its own, or (tests) in this one. */
  readonly leaseLink: MainLink;
  readonly clock: Clock;
  readonly random: Random;
  readonly nextTurn: NextTurn;
  readonly log: FlowLog;
  /** Who claims, for people: host and process. */
  readonly holder: string;
  /** Through which this process admits. Default: it does not. */
  readonly foreground?: Foreground;
  /** Default: nothing is traced. */
  readonly tracing?: Tracing | null;
}

export interface StopReport {
  /** Every item this process held has ended and its outcome is durable or was refused. */
  readonly drained: boolean;
  /** Calls into packs that still run though they were aborted; their leases run out by themselves. */
  readonly abandoned: number;
}

/** An outcome kept from a failing store is given up when its lease has been over for this many leases. */
const GIVE_UP_LEASES = 3;

export interface Supervisor {
  readonly events: WorkEvents;
  /** Nothing runs, and every scheduler's last look found nothing claimable. */
  readonly isIdle: boolean;
  /** Items this process holds under lease. */
  readonly heldLeases: number;
  start(): void;
  /** Something was enqueued. Without a pack: for any of them; without classes: of any of them. */
  wake(packId?: number, queueClasses?: readonly QueueClass[]): void;
  /** Every pool that is wanted is there and runs. False: a reconcile of the same packs changes something. */
  readonly isSound: boolean;
  /** The pools that claim, by pack id; for whoever watches. */
  readonly pools: ReadonlyMap<number, PackPool>;
  /**
   * From now on these packs and no others are served here. A pool stays, and looks once more, while it runs and is built
   * from the same definition, incarnation and settings; an old one's last scan ends before its successor's first, and
   * its executors drain beside it (SCH-2). A pack that is not active has none. Resolves when it is so. Before `start`
   * it is what will start; after `stop` it does nothing.
   * @throws LaneheadError `invalid_configuration` for settings of a pack; nothing is changed then
   */
  reconcile(packs: readonly SupervisedPack[]): Promise<void>;
  /** At most `timeoutMs` for what runs to end by itself, then about twice the stop grace. Repeatable. */
  stop(options: { readonly timeoutMs: number }): Promise<StopReport>;
}

/** @throws LaneheadError `invalid_configuration` for settings, `invalid_argument` for a service without SVC-3. */
export function createSupervisor(options: SupervisorOptions): Supervisor {
  if (!options.store.honorsClaimWorkTypes()) {
    throw new LaneheadError('invalid_argument', 'the store does not honour claimWorkTypes');
  }
  return new PackSupervisor(options, supervisorSettings(options.settings));
}

class PackSupervisor implements Supervisor {
  readonly events: WorkEvents;
  readonly #log: FlowLog;
  readonly #parts: PoolParts;
  readonly #pools: PoolSet;
  #started = false;
  #stopped: Promise<StopReport> | null = null;

  constructor(options: SupervisorOptions, settings: SupervisorSettings) {
    this.#log = options.log;
    this.events = new WorkEvents((error) =>
      options.log.warn('a work listener failed', { error: String(error) }),
    );
    this.#parts = makeParts(options, settings, this.events);
    this.#pools = new PoolSet(this.#parts);
    void this.#pools.want(options.packs.map((supervised) => this.#plan(supervised)));
    logWorkEvents(this.events, options.log, (packId) => this.#pools.planOf(packId)?.installed);
  }

  get pools(): ReadonlyMap<number, PackPool> {
    return this.#pools.live;
  }

  get isIdle(): boolean {
    return this.#pools.isIdle;
  }

  get isSound(): boolean {
    return this.#pools.isSound;
  }

  get heldLeases(): number {
    return this.#parts.leases.size;
  }

  start(): void {
    if (this.#started || this.#stopped !== null) return;
    this.#started = true;
    this.#warnOfWorkers();
    this.#pools.open();
  }

  wake(packId?: number, queueClasses?: readonly QueueClass[]): void {
    if (packId !== undefined) this.pools.get(packId)?.wake(queueClasses);
    else for (const pool of this.pools.values()) pool.wake(queueClasses);
  }

  async reconcile(packs: readonly SupervisedPack[]): Promise<void> {
    await this.#pools.want(packs.map((supervised) => this.#plan(supervised)));
  }

  stop({ timeoutMs }: { readonly timeoutMs: number }): Promise<StopReport> {
    this.#stopped ??= this.#stop(timeoutMs);
    return this.#stopped;
  }

  #plan({ pack, installed, settings }: SupervisedPack): PoolPlan {
    const shared = this.#parts.settings;
    const own = settings === undefined ? shared : supervisorSettings({ ...shared, ...settings });
    return { pack, installed, settings: own };
  }

  #warnOfWorkers(): void {
    const { workersPerPack } = this.#parts.settings;
    if (workersPerPack <= CONSERVATIVE_WORKERS_PER_PACK) return;
    this.#log.warn('workersPerPack is above the conservative default: unsafe until proven here', {
      workersPerPack,
      conservative: CONSERVATIVE_WORKERS_PER_PACK,
      risk: 'more flows at once press the store, the event loop and whatever flows call',
      watch: 'lanehead_claim_decisions_total, lanehead_outcomes_lost_total, nodejs_eventloop_lag_p99_seconds',
    });
  }

  async #stop(timeoutMs: number): Promise<StopReport> {
    const { watch, finalizer, leases, settings, clock } = this.#parts;
    const ended = this.#pools.close();
    let drained = await endsWithin(clock, ended, timeoutMs);
    if (!drained) {
      watch.stop(settings.stopGraceMs);
      // Once for the calls to settle, once for their outcomes to become durable.
      drained = await endsWithin(clock, ended, 2 * settings.stopGraceMs);
    }
    // A lease that is still held belongs to a flow that did not settle: it has no outcome.
    drained &&= leases.size === 0;
    finalizer.close();
    watch.close();
    await endsWithin(clock, leases.close(), settings.stopGraceMs);
    return { drained, abandoned: watch.abandoned };
  }
}

function makeTurns(clock: Clock): (pack: string) => LimitTurns {
  const turns = new Map<string, LimitTurns>();
  return (pack) => {
    const known = turns.get(pack) ?? new LimitTurns(clock);
    turns.set(pack, known);
    return known;
  };
}

function makeParts(options: SupervisorOptions, settings: SupervisorSettings, events: WorkEvents): PoolParts {
  const { store, clock, random, nextTurn, log, holder, leaseLink, tracing = null } = options;
  const { foreground = new Foreground(clock) } = options;
  const { leaseMs, flowDeadlineMs, abandonMs } = settings;
  return {
    store,
    gauge: new PressureGauge(() => store.pressure(), clock),
    turnsOf: makeTurns(clock),
    foreground,
    settings,
    clock,
    random,
    nextTurn,
    log,
    events,
    holder,
    tracing,
    leases: new LeaseHandle({ link: leaseLink, clock, nextTurn, leaseMs }),
    watch: new CallWatch(clock, nextTurn, { deadlineMs: flowDeadlineMs, abandonMs }),
    finalizer: new Finalizer({
      service: store,
      foreground,
      clock,
      random,
      nextTurn,
      giveUpMs: GIVE_UP_LEASES * leaseMs,
    }),
  };
}

async function endsWithin(clock: Clock, ended: Promise<unknown>, timeoutMs: number): Promise<boolean> {
  const timer = new AbortController();
  const late = clock.sleep(timeoutMs, timer.signal).then(() => false);
  const inTime = ended.then(() => true);
  const result = await Promise.race([inTime, late]);
  timer.abort();
  return result;
}
