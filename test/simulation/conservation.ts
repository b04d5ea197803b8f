/**
 * Work conservation: what may run, and finds a slot free that may run it in a process that is well, starts within a
 * bound. Looked at again and again, over whatever stretch nothing was in the way of that process.
 */
import type { Fleet } from './fleet.js';
import type { MirrorItem } from './row-mirror.js';
import type { Scene } from './scene.js';
import type { Life } from './virtual-process.js';
import type { WatchedPool } from './work-watch.js';

const LOOK_MS = 250;
/** A look, a claim, and what is open of others' transactions. */
const SLACK_MS = 1_000;
/** What is over the limit of its source is put aside, and looked at again within that. */
const LIMITED_MS = 3_000;

/** How long a pair of an item and a pool has been one that should have met; pure. */
export class IdleRule {
  readonly #boundMs: number;
  readonly #since = new Map<string, number>();

  constructor(boundMs: number) {
    this.#boundMs = boundMs;
  }

  /** @param pairs of this moment, each with when something last was in its way @returns those that waited too long */
  look(pairs: ReadonlyMap<string, number>, now: number): readonly string[] {
    for (const pair of this.#since.keys()) if (!pairs.has(pair)) this.#since.delete(pair);
    const late: string[] = [];
    for (const [pair, excusedAt] of pairs) {
      const since = Math.max(this.#since.get(pair) ?? now, excusedAt);
      this.#since.set(pair, since);
      if (now - since > this.#boundMs) late.push(pair);
    }
    return late;
  }
}

export class Conservation {
  readonly #scene: Scene;
  readonly #fleet: Fleet;
  readonly #rule: IdleRule;

  constructor(scene: Scene, fleet: Fleet) {
    const { settings, declared } = scene;
    this.#scene = scene;
    this.#fleet = fleet;
    this.#rule = new IdleRule(settings.poll.maxMs + SLACK_MS + (declared === null ? 0 : LIMITED_MS));
    this.#plan();
  }

  #plan(): void {
    this.#scene.world.after(LOOK_MS, null, () => {
      this.#look();
      this.#plan();
    });
  }

  #look(): void {
    const { world } = this.#scene;
    for (const pair of this.#rule.look(this.#pairs(), world.now))
      world.violation('idle_slot', pair, 'a slot is free, nothing is in the way, and it does not start');
  }

  #pairs(): ReadonlyMap<string, number> {
    const { audit, paused, settings, database } = this.#scene;
    const pairs = new Map<string, number>();
    for (const item of audit.mirror.items.values()) {
      if (item.now.state !== 'pending' || paused.has(item.packId) || !this.#mayStart(item)) continue;
      if (audit.mirror.processing(item.packId) >= settings.maxProcessingRows) continue;
      const resetAt = Math.max(audit.claimedAt.get(item.packId) ?? 0, database.jumpedAt);
      for (const life of this.#fleet.living) {
        for (const pool of life.pools) {
          if (!isFor(pool, item)) continue;
          pairs.set(`${item.item} beside ${pool.name}`, Math.max(resetAt, this.#excusedAt(life, pool)));
        }
      }
    }
    return pairs;
  }

  #mayStart(item: MirrorItem): boolean {
    const { audit, database, limitRules } = this.#scene;
    const now = database.now();
    return (
      item.dueAt <= now &&
      !audit.lostHints.has(item) &&
      audit.mirror.isHead(item) &&
      limitRules.allows(audit.mirror, item, now - 1)
    );
  }

  #excusedAt({ name, main }: Life, { restsUntil, limiter }: WatchedPool): number {
    const { hardships } = this.#scene;
    return Math.max(hardships.statements.lastOf(name), main.pausedUntil, restsUntil, limiter.restsUntil);
  }
}

const isFor = (
  { packId, generation, slots }: WatchedPool,
  { packId: of, now, queueClass }: MirrorItem,
): boolean => packId === of && generation >= now.generation && slots.freeFor(queueClass) > 0;
