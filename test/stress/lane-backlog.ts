import type { Fixture } from '../conformance/fixture.js';
import type { EventSketch } from '../support/drafts.js';

const EVENTS_PER_COMMIT = 500;

/** Admits `count` events, in their order, some hundred in a commit. */
export async function admitMany(
  at: Fixture,
  count: number,
  sketch: (place: number) => EventSketch,
): Promise<void> {
  for (let first = 0; first < count; first += EVENTS_PER_COMMIT) {
    const length = Math.min(EVENTS_PER_COMMIT, count - first);
    await at.admit({ events: Array.from({ length }, (_, n) => sketch(first + n)) });
  }
}

/** Claims and completes until nothing more is given; what each claim gave, by number of items. */
export async function drainInClaims(at: Fixture): Promise<number[]> {
  const sizes: number[] = [];
  for (;;) {
    const items = await at.claim();
    if (items.length === 0) return sizes;
    sizes.push(items.length);
    await at.finish(items);
  }
}

/** Sums up to `count` in claims of 50, as `drainInClaims` tells it where nothing stands in the way. */
export function fullClaims(count: number): number[] {
  const sizes = Array.from({ length: Math.floor(count / 50) }, () => 50);
  return count % 50 === 0 ? sizes : [...sizes, count % 50];
}
