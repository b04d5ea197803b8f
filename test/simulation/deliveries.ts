/** What senders will send, drawn before anything begins: fewer of them are the beginning of the same. */
import type { QueueClass } from '../../src/core/work.js';
import type { Seeded } from './seeded.js';

/** What a flow does in one run. `ms`: how long it takes. */
export type Step =
  | { readonly does: 'return' | 'throw' | 'skip' | 'dead' | 'kill' | 'block'; readonly ms: number }
  | { readonly does: 'retry'; readonly ms: number; readonly afterMs: number }
  /** Waits for its abort: and gives up; and returns all the same; or does not hear it for `ms`. */
  | { readonly does: 'hang' | 'late' | 'deaf'; readonly ms: number };

export interface DraftedEvent {
  /** Its name, for everybody. */
  readonly item: string;
  readonly source: string;
  readonly queueClass: QueueClass;
  readonly target?: string;
  readonly projection?: string;
  /** Not due before so long after the beginning. */
  readonly delayMs?: number;
  /** One step a claim; the last one repeats. */
  readonly plan: readonly Step[];
  /** What a batch read over it does. */
  readonly read?: 'throw' | 'hang';
}

export const ROUTES = ['source', 'strict', 'free', 'hold', 'projected', 'apart'] as const;
export type RouteName = (typeof ROUTES)[number];

export interface Delivery {
  readonly key: string;
  readonly sender: number;
  readonly route: RouteName;
  readonly events: readonly DraftedEvent[];
  /** Its pack cannot make events of it. */
  readonly broken: boolean;
  /** Nobody has signed it: it is refused, and not sent again. */
  readonly forged?: boolean;
  /** Key of a delivery that it repeats with other bytes. */
  readonly repeats: string | null;
  /** Rest of its sender before it. */
  readonly gapMs: number;
}

export interface Traffic {
  readonly deliveries: readonly Delivery[];
  /** Senders that do not wait for an answer before they send the next. */
  readonly eager: ReadonlySet<number>;
}

const CLASSES: readonly QueueClass[] = ['interactive', 'default', 'default', 'bulk'];
const SENDERS = 4;
const SOURCES_PER_SENDER = 2;
const TARGETS = 2;

export function drawTraffic(random: Seeded, count: number): Traffic {
  const eager = new Set(
    Array.from({ length: SENDERS }, (_, sender) => sender).filter(() => random.chance(0.2)),
  );
  const home = Array.from({ length: SENDERS }, () => random.pick(ROUTES));
  const trouble = random.float() ** 2;
  const deliveries: Delivery[] = [];
  for (let n = 0; n < count; n++) {
    const sender = random.int(0, SENDERS - 1);
    const route = random.chance(0.8) ? home[sender]! : random.pick(ROUTES);
    deliveries.push(drawDelivery(random, { n, sender, route, trouble, before: deliveries }));
  }
  return { deliveries, eager };
}

interface Place {
  readonly n: number;
  readonly sender: number;
  readonly route: RouteName;
  readonly trouble: number;
  readonly before: readonly Delivery[];
}

function drawDelivery(random: Seeded, place: Place): Delivery {
  const { n, sender, route, trouble, before } = place;
  const gapMs = random.between(0, 300);
  const broken = random.chance(0.03);
  const size = random.chance(0.65) ? 1 : random.int(2, 4);
  const other = random.chance(0.06) ? random.pick(before.filter((one) => one.route === route)) : undefined;
  const key = other?.repeats ?? other?.key ?? `d${n}`;
  const events = Array.from({ length: other?.events.length ?? size }, (_, ordinal) =>
    drawEvent(random, `d${n}/${ordinal}`, route, sender, trouble),
  );
  return { key, sender, route, events: broken ? [] : events, broken, repeats: other ? key : null, gapMs };
}

function drawEvent(
  random: Seeded,
  item: string,
  route: RouteName,
  sender: number,
  trouble: number,
): DraftedEvent {
  const source = `s${sender}.${random.int(1, SOURCES_PER_SENDER)}`;
  const queueClass = random.pick(CLASSES);
  const plan = drawPlan(random, trouble);
  const target = random.chance(0.2) ? { target: `t${random.int(1, TARGETS)}` } : {};
  const delay = random.chance(0.1) ? { delayMs: random.int(1, 8_000) } : {};
  const read = random.chance(0.1 * trouble) ? { read: random.pick(['throw', 'hang'] as const) } : {};
  const projection = route === 'projected' ? { projection: `p${sender}` } : {};
  return { item, source, queueClass, plan, ...target, ...delay, ...read, ...projection };
}

const LAST: readonly Step['does'][] = [
  'return',
  'return',
  'return',
  'return',
  'return',
  'late',
  'skip',
  'dead',
  'throw',
];
const BEFORE: readonly Step['does'][] = ['throw', 'throw', 'retry', 'hang', 'deaf', 'kill', 'block', 'late'];

function drawPlan(random: Seeded, trouble: number): readonly Step[] {
  const steps: Step[] = [];
  while (steps.length < 4 && random.chance(0.5 * trouble)) steps.push(drawStep(random, random.pick(BEFORE)));
  const last = random.chance(0.3 * trouble) ? random.pick(LAST) : 'return';
  return [...steps, drawStep(random, last)];
}

function drawStep(random: Seeded, does: Step['does']): Step {
  const short = random.chance(0.4) ? 0 : random.int(1, 120);
  switch (does) {
    case 'retry':
      return { does, ms: short, afterMs: random.int(0, 900) };
    case 'block':
      return { does, ms: random.int(50, 2_500) };
    case 'deaf':
      return { does, ms: random.int(500, 8_000) };
    case 'late':
      return { does, ms: random.int(0, 300) };
    default:
      return { does, ms: short };
  }
}
