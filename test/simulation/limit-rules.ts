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
    for (const { scope, limit, running } of this.#scopesOf(mirror, item, at))
      yield* this.#judge(scope, limit, running, at);
  }

  /** Whether another start of this item would be within all that is declared. */
  allows(mirror: RowMirror, item: MirrorItem, at: number): boolean {
    this.#forgetAfterJump();
    return this.#scopesOf(mirror, item, at).every(({ scope, limit, running }) => {
      if (limit === null) return true;
      if (limit.concurrency !== null && running + 1 > limit.concurrency) return false;
      return limit.rate === null || overRate(limit.rate, [...(this.#starts.get(scope) ?? []), at]) === null;
    });
  }

  get declared(): Limits | null {
    return this.#limits;
  }

  /** What is past its lease runs no more. */
  #scopesOf(mirror: RowMirror, item: MirrorItem, at: number): readonly Scope[] {
    if (this.#limits === null) return [];
    const { pack, namespace, source } = this.#limits;
    const { packId } = item;
    const key = mirror.sourceOf(item);
    const live = mirror.leasedAt(at);
    const mine = live.filter((other) => other.packId === packId);
    const inSource = mine.filter((other) => mirror.sourceOf(other) === key);
    return [
      { scope: 'pack', limit: pack, running: live.length },
      { scope: `namespace ${packId}`, limit: namespace, running: mine.length },
      { scope: `source ${packId}/${key}`, limit: source, running: inSource.length },
    ];
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
    const over = overRate(rate, starts);
    if (over !== null) yield ['declared_limit', `${over} under the rate of ${scope}`];
  }

  /** Times before a jump of the clock say nothing about times after it. */
  #forgetAfterJump(): void {
    if (this.#jumpedAt() === this.#jump) return;
    this.#jump = this.#jumpedAt();
    this.#starts.clear();
  }
}

interface Scope {
  readonly scope: string;
  readonly limit: Limit | null;
  /** Items that run under it. */
  readonly running: number;
}

/** What the last of these starts is too many of; `null`: it is not. */
function overRate(rate: RateLimit, starts: readonly number[]): string | null {
  const at = starts.at(-1)!;
  for (const [place, from] of starts.entries()) {
    const count = starts.length - place;
    if (count > rate.burst + ((at - from) * rate.count) / rate.perMs + 1e-6)
      return `${count} starts in ${at - from} ms`;
  }
  return null;
}

/** In every other world nothing is declared; sources are limited more often, and to less. */
export function drawLimits(random: Seeded): Limits | null {
  const limit = (places: number, rateCount: number, share: number): Limit | null => {
    if (!random.chance(share)) return null;
    const count = random.int(1, rateCount);
    const rate = random.chance(0.6)
      ? { count, perMs: random.int(100, 900), burst: random.int(1, count) }
      : null;
    return { rate, concurrency: rate === null || random.chance(0.5) ? random.int(1, places) : null };
  };
  return random.chance(0.5)
    ? null
    : { pack: limit(6, 6, 0.5), namespace: limit(5, 6, 0.5), source: limit(2, 2, 0.75) };
}
