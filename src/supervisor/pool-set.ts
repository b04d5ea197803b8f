/**
 * The pools of a process, and the one way in which they come, stay and go (SCH-5):
 *
 *            wanted                unfit: not wanted, paused, planned otherwise, broken
 *   absent ─────────▶ live ─────────────────────────────────▶ leaving ──last scan over──▶ draining ──▶ gone
 *                     ▲  └─fit─┐
 *                     └────────┘ looks once more
 *
 * A pack's next pool opens when the one before it drains, never sooner, so two of them never scan at once (SCH-2).
 * What is queued is no reason for anything here.
 */
import type { FlowLog } from '../packs/types.js';
import { PackPool, type PoolParts } from './pack-pool.js';
import { whyItLeaves, whyItOpens } from './pool-change.js';
import { type PoolPlan, samePool } from './pool-plan.js';

export class PoolSet {
  readonly #parts: PoolParts;
  readonly #live = new Map<number, PackPool>();
  readonly #draining = new Set<PackPool>();
  /** Why a pack has no pool, or its last one left; for the log alone. */
  readonly #left = new Map<number, string>();
  #wanted: ReadonlyMap<number, PoolPlan> = new Map();
  #state: 'new' | 'open' | 'closed' = 'new';
  #settling: Promise<void> = Promise.resolve();

  constructor(parts: PoolParts) {
    this.#parts = parts;
  }

  /** Those that claim, by pack id. */
  get live(): ReadonlyMap<number, PackPool> {
    return this.#live;
  }

  get isIdle(): boolean {
    return this.#draining.size === 0 && [...this.#live.values()].every((pool) => pool.isIdle);
  }

  /** What is wanted is there, and runs. False: a settling would change something. */
  get isSound(): boolean {
    if (this.#state !== 'open') return true;
    const due = [...this.#wanted.values()].filter(mayServe);
    return due.length === this.#live.size && [...this.#live.values()].every((pool) => this.#isFit(pool));
  }

  /** What a pool that is live or draining was planned for. */
  planOf(packId: number): PoolPlan | undefined {
    const pools = [...this.#live.values(), ...this.#draining];
    return pools.find(({ plan }) => plan.installed.packId === packId)?.plan ?? this.#wanted.get(packId);
  }

  open(): void {
    if (this.#state !== 'new') return;
    this.#state = 'open';
    this.#openMissing();
  }

  /**
   * From now on these, and no others. Resolves when it is so: unfit pools scan no more, new ones do. One change is
   * made at a time, and each makes what is wanted by then; never rejects.
   */
  want(plans: readonly PoolPlan[]): Promise<void> {
    this.#wanted = new Map(plans.map((plan) => [plan.installed.packId, plan]));
    this.#settling = this.#settling
      .then(() => this.#settle())
      .catch((error: unknown) => this.#log.error('pools could not be changed', { error: String(error) }));
    return this.#settling;
  }

  /** No pool opens any more; resolves when the last slot of all has finished its item. Repeatable. */
  async close(): Promise<void> {
    this.#state = 'closed';
    await Promise.all([...this.#live.values(), ...this.#draining].map((pool) => pool.stop()));
  }

  get #log(): FlowLog {
    return this.#parts.log;
  }

  async #settle(): Promise<void> {
    if (this.#state !== 'open') return;
    const unfit = [...this.#live.values()].filter((pool) => !this.#isFit(pool));
    await Promise.all(unfit.map((pool) => pool.stopScanning()));
    // A stop that came meanwhile has all of them in hand.
    if (this.#isClosed) return;
    for (const pool of unfit) this.#drain(pool);
    for (const pool of this.#live.values()) pool.look();
    this.#openMissing();
  }

  get #isClosed(): boolean {
    return this.#state === 'closed';
  }

  #isFit(pool: PackPool): boolean {
    const plan = this.#wanted.get(pool.plan.installed.packId);
    return plan !== undefined && mayServe(plan) && pool.isRunning && samePool(plan, pool.plan);
  }

  #drain(pool: PackPool): void {
    const { pack, installed } = pool.plan;
    this.#live.delete(installed.packId);
    this.#draining.add(pool);
    void pool.stop().then(() => this.#draining.delete(pool));
    const { packId, namespace, generation } = installed;
    const reason = whyItLeaves(pool.plan, this.#wanted.get(packId));
    this.#left.set(packId, reason);
    this.#log.info('workers take no more work', { pack: pack.name, namespace, generation, reason });
  }

  #openMissing(): void {
    for (const plan of this.#wanted.values()) {
      const { packId, status } = plan.installed;
      if (!mayServe(plan)) this.#left.set(packId, status);
      else if (!this.#live.has(packId)) this.#open(plan);
    }
  }

  #open(plan: PoolPlan): void {
    const { pack, installed, settings } = plan;
    const pool = new PackPool(this.#parts, plan);
    this.#live.set(installed.packId, pool);
    pool.start();
    const { workersPerPack, maxProcessingRows } = settings;
    const { packId, namespace, generation } = installed;
    const reason = whyItOpens(this.#left.get(packId));
    const fields = { pack: pack.name, namespace, generation, reason, workersPerPack, maxProcessingRows };
    this.#log.info('workers started', fields);
  }
}

/** A paused pack has no pool: nothing is claimed for it and nothing asked. Nor has one that was retired. */
const mayServe = ({ installed }: PoolPlan): boolean => installed.status === 'active';
