/**
 * Senders that wait for nobody: many deliveries at one moment, to one namespace or to all of them, and some that nobody
 * has signed.
 */
import { QUEUE_CLASSES } from '../../src/core/work.js';
import type { Delivery } from './deliveries.js';
import type { Seeded } from './seeded.js';

const SHARE = 0.4;
const LATEST_MS = 6_000;
const KILL = { does: 'kill', ms: 5 } as const;
/** Apart from all that wait for an answer. */
export const FIRST_BURST_SENDER = 100;
/** From here on their deliveries are spread over all namespaces. */
export const FIRST_SPREAD_SENDER = 200;

export function drawBursts(random: Seeded): readonly Delivery[] {
  if (!random.chance(SHARE)) return [];
  const at = random.between(0, LATEST_MS);
  const withinMs = random.between(0, 40);
  const isForged = random.chance(0.3);
  const source = random.chance(0.5) ? 'burst' : null;
  const firstSender = random.chance(0.5) ? FIRST_BURST_SENDER : FIRST_SPREAD_SENDER;
  // Its lease runs out while the others of its source wait for their turn.
  const killer = random.chance(0.4) ? 0 : null;
  return Array.from({ length: random.int(5, 16) }, (_, n): Delivery => {
    const key = `burst${n}`;
    const event = {
      item: `${key}/0`,
      source: source ?? key,
      queueClass: random.pick(QUEUE_CLASSES),
      plan: [...(n === killer ? [KILL] : []), { does: 'return' as const, ms: random.int(0, 60) }],
    };
    const forged = isForged && random.chance(0.7);
    return {
      key,
      sender: firstSender + n,
      route: random.pick(['source', 'free', 'apart'] as const),
      events: forged ? [] : [event],
      broken: false,
      forged,
      repeats: null,
      gapMs: at + random.between(0, withinMs),
    };
  });
}
