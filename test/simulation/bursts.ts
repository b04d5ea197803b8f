/** Senders that wait for nobody: many deliveries at one moment, to one namespace, and some that nobody has signed. */
import { QUEUE_CLASSES } from '../../src/core/work.js';
import type { Delivery } from './deliveries.js';
import type { Seeded } from './seeded.js';

const SHARE = 0.3;
const LATEST_MS = 6_000;
/** Apart from all that wait for an answer. */
export const FIRST_BURST_SENDER = 100;

export function drawBursts(random: Seeded): readonly Delivery[] {
  if (!random.chance(SHARE)) return [];
  const at = random.between(0, LATEST_MS);
  const withinMs = random.between(0, 40);
  const isForged = random.chance(0.3);
  const source = random.chance(0.5) ? 'burst' : null;
  return Array.from({ length: random.int(5, 12) }, (_, n): Delivery => {
    const key = `burst${n}`;
    const event = {
      item: `${key}/0`,
      source: source ?? key,
      queueClass: random.pick(QUEUE_CLASSES),
      plan: [{ does: 'return' as const, ms: random.int(0, 60) }],
    };
    const forged = isForged && random.chance(0.7);
    return {
      key,
      sender: FIRST_BURST_SENDER + n,
      route: random.pick(['source', 'free'] as const),
      events: forged ? [] : [event],
      broken: false,
      forged,
      repeats: null,
      gapMs: at + random.between(0, withinMs),
    };
  });
}
