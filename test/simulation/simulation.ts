/**
 * One seed, from its first draw to its verdict:
 *
 *   traffic, processes and faults are drawn ─▶ they run ─▶ faults end ─▶ everything drains ─▶ processes stop ─▶ judged
 */

import { stats } from '../../src/store/verbs/reports.js';
import { supervisorSettings } from '../../src/supervisor/supervisor-settings.js';
import type { History, SentItem, StoredItem, Violation } from '../support/history.js';
import { checkHistory } from '../support/history-checker.js';
import { failureBreaches, logBreaches } from './action-rules.js';
import { drawBursts } from './bursts.js';
import { Chaos } from './chaos.js';
import { Conservation } from './conservation.js';
import { drawTraffic } from './deliveries.js';
import { type FaultKind, Faults } from './faults.js';
import { Fleet } from './fleet.js';
import { Hardships } from './hardships.js';
import { Ledger } from './ledger.js';
import { drawLimits, LimitRules } from './limit-rules.js';
import { Operators } from './operators.js';
import { People } from './people.js';
import { Pressure } from './pressure.js';
import type { ProcessTraits } from './process-traits.js';
import { RowAudit } from './row-audit.js';
import { isOpen, type MirrorItem, type RowMirror, TERMINAL } from './row-mirror.js';
import type { Scene } from './scene.js';
import type { Seeded } from './seeded.js';
import { Senders } from './senders.js';
import { SharedDatabase } from './shared-database.js';
import { drawAdmission } from './virtual-admission.js';
import { itemOfPayload, RETRY } from './virtual-packs.js';
import { World } from './world.js';

export interface SimulationOptions {
  readonly seed: number;
  /** Deliveries. */
  readonly ops?: number;
  readonly without?: readonly FaultKind[];
  /** Told every note of the trace. */
  readonly onNote?: (line: string) => void;
}

export interface SimulationReport {
  readonly seed: number;
  readonly traceHash: string;
  readonly violations: readonly Violation[];
  readonly injected: Readonly<Record<string, number>>;
  readonly events: number;
  /** Virtual. */
  readonly seconds: number;
  readonly runs: number;
  /** States of all items in the end, counted. */
  readonly states: Readonly<Record<string, number>>;
}

export const DEFAULT_OPS = 14;

const NAMESPACES = ['acme', 'beta'];
/** Worlds in which the pack is installed in both. */
const TWO_SHARE = 0.35;
/** Faults end so long after the beginning, whatever is still on its way. */
const FAULTS_MS = [2_000, 7_000] as const;
/** Virtual time in which everything eligible ends after that. */
const DRAIN_MS = 120_000;
const LOOK_EVERY_MS = 250;
const STOP_MS = 5_000;

let shared: SharedDatabase | undefined;
let last: Promise<unknown> = Promise.resolve();

/** One at a time in an OS process, in the order of asking: all worlds use the same database. */
export function simulate(options: SimulationOptions): Promise<SimulationReport> {
  const report = last.then(() => simulateAlone(options));
  last = report.catch(() => undefined);
  return report;
}

async function simulateAlone(options: SimulationOptions): Promise<SimulationReport> {
  const world = new World(options.seed, options.onNote);
  const simulation = new Simulation(world, options);
  const onRejection = (error: unknown): void => {
    world.violation('bug', 'process', `unhandled rejection: ${(error as Error).stack ?? error}`);
  };
  process.on('unhandledRejection', onRejection);
  try {
    await simulation.run();
    return simulation.report();
  } finally {
    process.off('unhandledRejection', onRejection);
  }
}

class Simulation {
  readonly #world: World;
  readonly #options: SimulationOptions;
  readonly #scene: Scene;
  readonly #fleet: Fleet;
  readonly #people: People;
  readonly #operators: Operators;
  readonly #senders: Senders;
  #stopped = false;

  constructor(world: World, options: SimulationOptions) {
    this.#world = world;
    this.#options = options;
    const random = world.random.stream('world');
    const regular = drawTraffic(world.random.stream('traffic'), options.ops ?? DEFAULT_OPS);
    const bursts = drawBursts(world.random.stream('bursts'));
    const traffic = { ...regular, deliveries: [...regular.deliveries, ...bursts] };
    this.#scene = drawScene(world, random, options.without ?? []);
    this.#fleet = new Fleet(this.#scene, drawTraits(random));
    this.#senders = new Senders(this.#scene, this.#fleet, traffic);
    new Conservation(this.#scene, this.#fleet);
    new Chaos(this.#scene, this.#fleet);
    this.#operators = new Operators(this.#scene, this.#fleet);
    this.#people = new People(this.#scene);
    const [least, most] = FAULTS_MS;
    world.after(random.between(least, most), null, () => this.#heal());
  }

  async run(): Promise<void> {
    await this.#world.run(() => this.#stopped || this.#world.violations.length > 0);
    if (this.#world.violations.length === 0) this.#judge();
  }

  report(): SimulationReport {
    const { audit, faults, ledger } = this.#scene;
    const { seed } = this.#options;
    const states: Record<string, number> = {};
    for (const { now } of audit.mirror.items.values()) states[now.state] = (states[now.state] ?? 0) + 1;
    const counts = {
      lease_expired: audit.expiredLeases,
      hint_repaired: audit.repairedHints,
      ...this.#people.changed,
    };
    return {
      seed,
      traceHash: this.#world.trace.digest(),
      violations: this.#world.violations,
      injected: { ...faults.injected, ...counts, lives: this.#fleet.lives },
      events: this.#world.events,
      seconds: this.#world.now / 1_000,
      runs: ledger.records.filter(({ kind }) => kind === 'started').length,
      states,
    };
  }

  #heal(): void {
    this.#world.trace.note('faults end');
    this.#scene.faults.end();
    this.#scene.outage.until = 0;
    this.#fleet.settle();
    this.#operators.settle();
    const until = this.#world.now + DRAIN_MS;
    const look = (): void => {
      if (this.#senders.done && this.#people.done && this.#movable().length === 0) void this.#close();
      else if (this.#world.now >= until) this.#stuck();
      else this.#world.after(LOOK_EVERY_MS, null, look);
    };
    look();
  }

  #movable(): readonly MirrorItem[] {
    return movable(this.#scene.audit.mirror, this.#people.present);
  }

  #stuck(): void {
    const left = this.#movable();
    for (const { item, now } of left)
      this.#world.violation('stuck', item, `still ${now.state}, readiness ${now.readiness}`);
    if (left.length === 0) this.#world.violation('stuck', 'senders', 'a delivery was never acknowledged');
  }

  async #close(): Promise<void> {
    this.#compareStatistics();
    this.#judgeActions();
    this.#world.after(2 * STOP_MS, null, () => {
      if (!this.#stopped) this.#world.violation('stuck', 'processes', 'did not stop in time');
    });
    await this.#fleet.close(STOP_MS);
    this.#stopped = true;
  }

  #judgeActions(): void {
    const { database, audit, ledger } = this.#scene;
    if (database.holder !== null) return;
    for (const [action, [kind, why]] of logBreaches(database, ledger))
      this.#world.violation(kind, action, why);
    for (const [{ item }, [kind, why]] of failureBreaches(database, audit.mirror, ledger))
      this.#world.violation(kind, item, why);
  }

  /** Once quiet, the marks say what the predicate says. */
  #compareStatistics(): void {
    const { database, audit } = this.#scene;
    if (database.holder !== null) return;
    for (const item of audit.mirror.items.values()) {
      const { state, readiness } = item.now;
      const marked = state === 'pending' && readiness !== 0;
      if (marked !== audit.mirror.isHead(item))
        this.#world.violation('statistics', item.item, `readiness ${readiness} while ${state}`);
    }
    const [cheap, exact] = [false, true].map((one) => JSON.stringify(database.ask(stats(one)).packs));
    if (cheap !== exact) this.#world.violation('statistics', 'packs', `cheap ${cheap}, exact ${exact}`);
  }

  #judge(): void {
    const { mirror } = this.#scene.audit;
    const stored = [...mirror.items.values()].map(({ item, eventId, now }): StoredItem => {
      return { item, receipt: mirror.events.get(eventId)!.receiptId, state: now.state };
    });
    const { records: runs, transitions } = this.#scene.ledger;
    const history: History = {
      sent: [...this.#senders.sent(), ...replayed(mirror)],
      stored,
      runs,
      transitions,
    };
    for (const { kind, item, why } of checkHistory(history)) this.#world.violation(kind, item, why);
  }
}

/** What people made is nobody's to wait for; whether it is what it should be, the rules about rows say. */
const replayed = (mirror: RowMirror): readonly SentItem[] =>
  [...mirror.items.values()]
    .filter(({ eventId }) => mirror.events.get(eventId)!.parentId !== null)
    .map(({ item }) => ({ item, lane: item, sequence: 0, receipts: [] }));

/** Open, and somebody will decide whatever has to be decided before it ends: what has to drain. */
function movable(mirror: RowMirror, decided: boolean): readonly MirrorItem[] {
  const waits = new Map<MirrorItem, boolean>();
  const waitsForHeld = (item: MirrorItem): boolean => {
    const known = waits.get(item);
    if (known !== undefined) return known;
    waits.set(item, false);
    const before = isOpen(item)
      ? item.lanes.flatMap((lane) =>
          mirror.lane(lane).filter((one) => isOpen(one) && one.ordinal < item.ordinal),
        )
      : mirror.generations(item.projection!).filter(({ now }) => now.activeKey !== null);
    const result = (item.now.state === 'held' && !decided) || before.some(waitsForHeld);
    waits.set(item, result);
    return result;
  };
  return [...mirror.items.values()].filter((item) => !TERMINAL.has(item.now.state) && !waitsForHeld(item));
}

function drawScene(world: World, random: Seeded, without: readonly FaultKind[]): Scene {
  const leaseMs = random.int(400, 2_000);
  const deadlineMs = random.int(200, 1_500);
  const limits = { deadlineMs, abandonMs: deadlineMs + random.int(100, 1_500) };
  const ledger = new Ledger();
  const settings = supervisorSettings({
    leaseMs,
    flowDeadlineMs: limits.deadlineMs,
    abandonMs: limits.abandonMs,
    maxProcessingRows: random.chance(0.3) ? random.int(1, 4) : 64,
    stopGraceMs: random.int(0, 400),
    queueProfile: random.chance(0.5) ? 'reserved' : 'default-heavy',
    poll: { minMs: 25, maxMs: random.int(300, 2_000) },
    repairEveryMs: random.int(1_000, 6_000),
  });
  shared ??= new SharedDatabase(world, itemOfPayload);
  const database = shared;
  const faults = new Faults(world, without);
  const hardships = new Hardships(world);
  const declared = drawLimits(world.random.stream('declared'));
  const limitRules = new LimitRules(declared, () => database.jumpedAt);
  const paused: Scene['paused'] = new Map();
  const audit = new RowAudit(world, {
    ledger,
    retry: () => RETRY,
    holdsConflicts: (route) => route !== 'apart',
    processingBudget: settings.maxProcessingRows,
    limits: limitRules,
    leaseMs,
    abandonMs: limits.abandonMs,
    hardships,
    databaseNow: () => database.now(),
    beganAt: () => database.beganAt,
    shownBefore: () => database.shownBefore,
    jumpedAt: () => database.jumpedAt,
    calmSince: () => faults.overSince,
    isPaused: (packId) => paused.has(packId),
    now: () => world.now,
  });
  database.reset(world, (notes) => audit.committed(notes));
  return {
    world,
    database,
    audit,
    ledger,
    faults,
    hardships,
    outage: { until: 0 },
    paused,
    settings,
    limits,
    declared,
    limitRules,
    pressure: new Pressure(world, faults),
    namespaces: NAMESPACES.slice(0, world.random.stream('namespaces').chance(TWO_SHARE) ? 2 : 1),
    admission: drawAdmission(world.random.stream('admission')),
    pace: drawPace(world.random.stream('pace')),
    parks: world.random.stream('parks').chance(0.4),
    routeVersionOf: drawRouteVersions(world),
    statementMs: random.chance(0.7) ? random.between(0.05, 0.5) : random.between(0.5, 8),
  };
}

/** Every other new version of the pack has new routes: the first one, or the second. */
function drawRouteVersions(world: World): (version: number) => number {
  const shift = world.random.stream('routes').chance(0.5) ? 1 : 2;
  return (version) => Math.floor((version + shift) / 2);
}

/** In some worlds flows outlast their leases. */
const drawPace = (random: Seeded): number => (random.chance(0.4) ? random.between(3, 15) : 1);

function drawTraits(random: Seeded): readonly ProcessTraits[] {
  const count = random.int(1, 3);
  return Array.from({ length: count }, (_, n) => ({
    // The first one does everything, so that there always is somebody.
    role: n === 0 || random.chance(0.6) ? 'all' : random.pick(['ingress', 'worker'] as const),
    ownKeeper: random.chance(0.5),
    workers: random.int(1, 8),
    skewMs: random.chance(0.3) ? random.int(-600_000, 600_000) : 0,
    latenessMs: random.chance(0.3) ? random.between(0, 20) : 0,
    gatherMs: random.chance(0.3) ? random.int(1, 30) : 0,
  }));
}
