/** The limits that the pack declares, judged from the claims as they were committed. */
import type { Limit, Limits, RateLimit } from '../../src/core/limits.js';
import type { Breach } from './row-audit.js';
import type { MirrorItem, RowMirror } from './row-mirror.js';
import type { Seeded } from './seeded.js';

export class LimitRules {
  readonly #limits: Limits | null;
  readonly #jumpedAt: () => number;
  /** By scope, when its items started; by the database's clock. */
  readonly #starts = new Map<string, number[]>();
  #jump: number;

  constructor(limits: Limits | null, jumpedAt: () => number) {
    this.#limits = limits;
    this.#jumpedAt = jumpedAt;
    this.#jump = jumpedAt();
  }

  /** @param at of the claim, by the database's clock */
  *breaches(mirror: RowMirror, item: MirrorItem, at: number): Generator<Breach> {
    if (this.#limits === null) return;
    this.#forgetAfterJump();
    const { pack, namespace, source } = this.#limits;
    const key = mirror.sourceOf(item);
    const inSource = mirror.processingOf((other) => mirror.sourceOf(other) === key);
    yield* this.#judge('pack', pack, mirror.processing(item.packId), at);
    yield* this.#judge('namespace', namespace, mirror.processing(item.packId), at);
    yield* this.#judge(`source ${key}`, source, inSource, at);
  }

  *#judge(scope: string, limit: Limit | null, running: number, at: number): Generator<Breach> {
    if (limit === null) return;
    const { concurrency, rate } = limit;
    if (concurrency !== null && running + 1 > concurrency)
      yield ['declared_limit', `${running + 1} of ${concurrency} run under the limit of ${scope}`];
    if (rate !== null) yield* this.#judgeRate(scope, rate, at);
  }

  *#judgeRate(scope: string, rate: RateLimit, at: number): Generator<Breach> {
    const starts = this.#starts.get(scope) ?? [];
    this.#starts.set(scope, starts);
    starts.push(at);
    for (const [place, from] of starts.entries()) {
      const count = starts.length - place;
      const most = rate.burst + ((at - from) * rate.count) / rate.perMs;
      if (count <= most + 1e-6) continue;
      yield ['declared_limit', `${count} starts in ${at - from} ms under the rate of ${scope}`];
      return;
    }
  }

  /** Times before a jump of the clock say nothing about times after it. */
  #forgetAfterJump(): void {
    if (this.#jumpedAt() === this.#jump) return;
    this.#jump = this.#jumpedAt();
    this.#starts.clear();
  }
}

/** In every other world nothing is declared. */
export function drawLimits(random: Seeded): Limits | null {
  const limit = (most: number): Limit | null => {
    if (random.chance(0.5)) return null;
    const count = random.int(1, 6);
    const rate = random.chance(0.6)
      ? { count, perMs: random.int(100, 900), burst: random.int(1, count) }
      : null;
    return { rate, concurrency: rate === null || random.chance(0.5) ? random.int(1, most) : null };
  };
  return random.chance(0.5) ? null : { pack: limit(6), namespace: limit(5), source: limit(2) };
}
