/**
 * The executor slots of one pool, counted from what its scheduler says and asks: what a scan reserves is there, what it
 * reserved becomes a run or is given back, and no slot runs what its shape may not.
 */
import { QUEUE_CLASSES, type QueueClass, type QueueProfile } from '../../src/core/work.js';
import type { Permits } from '../../src/scheduler/central-claim-scheduler.js';
import type { ExecutorShape } from '../../src/scheduler/shapes.js';
import type { WorkEventMap } from '../../src/scheduler/work-events.js';
import type { ClaimedItem, ClaimRequest } from '../../src/store/store.js';
import type { Breach } from './row-audit.js';

type ShapeName = ExecutorShape['name'];
type Affinity = 'none' | 'bulk' | 'interactive';

interface Slots {
  readonly count: number;
  readonly classes: readonly QueueClass[];
  readonly affinity: Affinity;
}

/** RSV-2, RSV-3, RSV-4, said once more, so that the product's own table is judged too. */
export function expectedSlots(profile: QueueProfile, count: number): ReadonlyMap<ShapeName, Slots> {
  const any = QUEUE_CLASSES;
  if (count === 1) return new Map([['sole', { count, classes: any, affinity: 'interactive' }]]);
  const bulk = Math.floor(count / 4);
  const latency = Math.max(1, bulk);
  return new Map<ShapeName, Slots>([
    ['latency', { count: latency, classes: ['interactive', 'default'], affinity: 'none' }],
    [
      'bulk',
      profile === 'reserved'
        ? { count: bulk, classes: ['bulk'], affinity: 'none' }
        : { count: bulk, classes: any, affinity: 'bulk' },
    ],
    ['shared', { count: count - latency - bulk, classes: any, affinity: 'none' }],
  ]);
}

const keyOf = ({ lease }: ClaimedItem): string => `${lease.workId}@${lease.epoch}`;

export class SlotRules {
  readonly #slots: ReadonlyMap<ShapeName, Slots>;
  readonly #budget: number;
  readonly #breach: (breach: Breach) => void;
  /** Shape of the slot in which each item runs. */
  readonly #running = new Map<string, ShapeName>();
  #shape: ShapeName | null = null;
  #decision: WorkEventMap['claimDecided']['decision'] | null = null;
  /** Claims of the only slot that brought something with a preference, in a row. */
  #preferred = 0;
  #asked: ClaimRequest | null = null;

  constructor(profile: QueueProfile, count: number, budget: number, breach: (breach: Breach) => void) {
    this.#slots = expectedSlots(profile, count);
    this.#budget = budget;
    this.#breach = breach;
  }

  /** Slots that may take up something of this class, by their shape and by what this process leaves of the budget. */
  freeFor(queueClass: QueueClass): number {
    let free = 0;
    for (const [name, { count, classes }] of this.#slots)
      if (classes.includes(queueClass)) free += count - this.#runningIn(name);
    return Math.min(free, this.#budget - this.#running.size);
  }

  /** A scan begins. @param permits what is reserved by then */
  decided({ shape, waiting, asked, decision }: WorkEventMap['claimDecided'], permits: Permits | null): void {
    this.#shape = shape.name;
    this.#decision = decision;
    if (permits !== null)
      this.#breach(['phantom_permit', `a scan begins, and ${permits.count} permits are held`]);
    const slots = this.#slots.get(shape.name)?.count ?? 0;
    const running = this.#runningIn(shape.name);
    if (waiting + running !== slots)
      this.#breach(['phantom_permit', `${waiting} wait and ${running} run of ${slots} ${shape.name} slots`]);
    if (asked > waiting || asked + this.#running.size > this.#budget)
      this.#breach(['phantom_permit', `${asked} asked for, ${waiting} wait, ${this.#running.size} run`]);
    if (decision.maxClaims > asked)
      this.#breach(['limiter', `${decision.maxClaims} granted of ${asked} asked for`]);
  }

  /** It looks, or claims. @param request `null`: a look */
  asks(request: ClaimRequest | null, permits: Permits | null): void {
    const kind = this.#decision?.kind;
    const isStale = request?.mode === 'stale';
    if (kind === 'denied' || (kind === 'stale_only') !== isStale)
      this.#breach(['limiter', `${request?.mode ?? 'a look'}, and decided was ${kind}`]);
    if (request === null) return;
    this.#asked = request;
    if (permits === null || permits.shape.name !== this.#shape || request.maxClaims > permits.count)
      this.#breach(['phantom_permit', `claims ${request.maxClaims} on ${permits?.count ?? 'no'} permits`]);
    if (permits === null) return;
    if (permits.count > (this.#decision?.maxClaims ?? 0))
      this.#breach(['phantom_permit', `${permits.count} permits, ${this.#decision?.maxClaims} decided`]);
    this.#judgeClasses(request, permits.shape.name);
  }

  #judgeClasses({ queueClasses, preference }: ClaimRequest, shape: ShapeName): void {
    const { classes, affinity } = this.#slots.get(shape)!;
    const asked = queueClasses.length === 0 ? QUEUE_CLASSES : queueClasses;
    if (QUEUE_CLASSES.some((name) => asked.includes(name) !== classes.includes(name)))
      this.#breach(['queue_class', `${shape} slots ask for ${asked.join(', ')}`]);
    const allowed = affinity === 'none' ? [''] : affinity === 'bulk' ? ['bulk'] : ['', 'interactive'];
    if (!allowed.includes(preference.join()))
      this.#breach(['queue_class', `${shape} slots prefer ${preference.join(', ') || 'nothing'}`]);
  }

  /** A claim was answered with these, or with nothing. */
  brought(items: readonly ClaimedItem[], asked: number): void {
    if (items.length > asked) this.#breach(['phantom_permit', `${items.length} items for ${asked} permits`]);
    if (items.length === 0 || this.#asked === null) return;
    const prefers =
      this.#slots.get(this.#shape!)?.affinity === 'interactive' && this.#asked.preference.length > 0;
    this.#preferred = prefers ? this.#preferred + 1 : 0;
    if (this.#preferred > MOST_PREFERRED)
      this.#breach(['starved', `${this.#preferred} claims in a row preferred what is urgent`]);
  }

  /** Its slots take these up. */
  claimed(items: readonly ClaimedItem[]): void {
    for (const item of items) {
      this.#running.set(keyOf(item), this.#shape!);
      const slots = this.#slots.get(this.#shape!);
      if (slots !== undefined && !slots.classes.includes(item.queueClass))
        this.#breach(['queue_class', `${item.queueClass} in a ${this.#shape} slot`]);
      if (this.#runningIn(this.#shape!) > (slots?.count ?? 0))
        this.#breach(['phantom_permit', `more run than there are ${this.#shape} slots`]);
    }
  }

  /** @returns whether it ran here */
  freed(item: ClaimedItem): boolean {
    return this.#running.delete(keyOf(item));
  }

  #runningIn(shape: ShapeName): number {
    let count = 0;
    for (const name of this.#running.values()) if (name === shape) count++;
    return count;
  }
}

const MOST_PREFERRED = 3;
