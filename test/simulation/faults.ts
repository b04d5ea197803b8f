import type { Seeded } from './seeded.js';
import type { World } from './world.js';

/** Rates are per draw (a statement, a message, a change of pools); `null`: the disturber picks the moment, see chaos.ts. */
const KINDS = {
  slow_statement: [0.002, 0.03],
  failed_statement: [0.0005, 0.01],
  contention: [0.001, 0.03],
  crash_in_transaction: [0.0003, 0.004],
  lost_commit_done: [0.003, 0.06],
  lost_commit_undone: [0.003, 0.06],
  request_lost: [0.01, 0.2],
  answer_lost: [0.01, 0.2],
  duplicated: [0.01, 0.3],
  delayed: [0.01, 0.2],
  stop_in_change: [0.5, 1],
  crash: null,
  pause: null,
  blocked_loop: null,
  wall_jump: null,
  database_jump: null,
  outage: null,
  stop: null,
  new_version: null,
  lost_hint: null,
  pack_paused: null,
  pack_removed: null,
  pressed: null,
  probe_degraded: null,
} as const;

export type FaultKind = keyof typeof KINDS;
export const FAULT_KINDS = Object.keys(KINDS) as readonly FaultKind[];

/** What people do, see operators.ts, and how hard the store is pressed: drawn apart, so that a seed keeps its other faults. */
const APART: Partial<Record<FaultKind, string>> = {
  pack_paused: 'operators',
  pack_removed: 'operators',
  pressed: 'pressures',
  probe_degraded: 'pressures',
  stop_in_change: 'changes',
};

/** Seeds in which nothing goes wrong by itself. */
const CALM_SHARE = 0.08;

/** Which faults a seed has, and how often. */
export class Faults {
  readonly injected: Record<string, number> = {};
  readonly #world: World;
  readonly #random: Seeded;
  readonly #streams: ReadonlyMap<string, Seeded>;
  readonly #rates = new Map<FaultKind, number>();
  #overSince = Number.POSITIVE_INFINITY;
  #lastsUntil = 0;

  constructor(world: World, without: readonly FaultKind[]) {
    this.#world = world;
    this.#random = world.random.stream('faults');
    const calm = this.#random.chance(CALM_SHARE);
    const share = this.#random.between(0.2, 0.9);
    this.#streams = new Map(
      [...new Set(Object.values(APART))].map((name) => [name, world.random.stream(name)]),
    );
    for (const kind of FAULT_KINDS) {
      const random = this.#streamOf(kind);
      const enabled = random.chance(share);
      const place = random.float() ** 2;
      const range = KINDS[kind];
      const rate = range === null ? 1 : range[0] + place * (range[1] - range[0]);
      if (enabled && !calm && !without.includes(kind)) this.#rates.set(kind, rate);
    }
  }

  #streamOf(kind: FaultKind): Seeded {
    return this.#streams.get(APART[kind] ?? '') ?? this.#random;
  }

  has(kind: FaultKind): boolean {
    return this.#rates.has(kind);
  }

  /** From now on nothing strikes. */
  end(): void {
    this.#overSince = this.#world.now;
  }

  get over(): boolean {
    return this.#overSince <= this.#world.now;
  }

  /** When the last one was over, one that lasts included. */
  get overSince(): number {
    return Math.max(this.#overSince, this.#lastsUntil);
  }

  /** What struck here and now goes on for so long. */
  lasts(ms: number): void {
    this.#lastsUntil = Math.max(this.#lastsUntil, this.#world.now + ms);
  }

  /** Draws whether it happens here and now. */
  strikes(kind: FaultKind): boolean {
    const rate = this.#rates.get(kind);
    if (rate === undefined || this.over || !this.#streamOf(kind).chance(rate)) return false;
    this.count(kind);
    return true;
  }

  /** What is no fault, and worth to be told: a request that was turned away. */
  tell(what: `shed_${string}`): void {
    this.injected[what] = (this.injected[what] ?? 0) + 1;
  }

  count(kind: FaultKind): void {
    this.injected[kind] = (this.injected[kind] ?? 0) + 1;
    this.#world.trace.note(`fault ${kind}`);
  }
}
