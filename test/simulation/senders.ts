/**
 * Whoever sends webhooks, over a network that loses, repeats and delays: each delivery again and again until it is
 * acknowledged, the next one of a sender only then (or not, for those who do not wait).
 */
import type { Cancel } from '../../src/core/clock.js';
import type { SentItem } from '../support/history.js';
import { FIRST_BURST_SENDER, FIRST_SPREAD_SENDER } from './bursts.js';
import type { Delivery, DraftedEvent, Traffic } from './deliveries.js';
import type { Faults } from './faults.js';
import type { Fleet } from './fleet.js';
import type { RowMirror } from './row-mirror.js';
import type { Scene } from './scene.js';
import type { Seeded } from './seeded.js';
import type { WebhookAnswer } from './virtual-admission.js';
import type { Life } from './virtual-process.js';
import type { World } from './world.js';

const TRIP_MS = [0.2, 3] as const;
const LATE_MS = 2_500;
const PATIENCE_MS = [1_500, 4_000] as const;

interface Progress {
  readonly delivery: Delivery;
  /** Its next try. */
  cancelNext: Cancel;
  acknowledged: boolean;
  readonly receipts: string[];
}

export class Senders {
  readonly #world: World;
  readonly #faults: Faults;
  readonly #random: Seeded;
  readonly #fleet: Fleet;
  readonly #mirror: RowMirror;
  readonly #namespaces: readonly string[];
  readonly #traffic: Traffic;
  readonly #progress: readonly Progress[];

  constructor({ world, faults, audit, namespaces }: Scene, fleet: Fleet, traffic: Traffic) {
    const { mirror } = audit;
    this.#namespaces = namespaces;
    this.#world = world;
    this.#faults = faults;
    this.#random = world.random.stream('network');
    this.#fleet = fleet;
    this.#mirror = mirror;
    this.#traffic = traffic;
    this.#progress = traffic.deliveries.map((delivery) => ({
      delivery,
      cancelNext: () => undefined,
      acknowledged: false,
      receipts: [],
    }));
    const senders = new Set(traffic.deliveries.map(({ sender }) => sender));
    for (const sender of senders) this.#next(this.#progress.filter((one) => one.delivery.sender === sender));
  }

  /** Every sender sends to one namespace; a burst to the first, or to all. */
  #namespaceOf({ sender }: Delivery): string {
    const isToOne = sender >= FIRST_BURST_SENDER && sender < FIRST_SPREAD_SENDER;
    return this.#namespaces[isToOne ? 0 : sender % this.#namespaces.length]!;
  }

  get done(): boolean {
    return this.#progress.every(({ acknowledged }) => acknowledged);
  }

  /** What was sent, in the words of the history checker. */
  sent(): readonly SentItem[] {
    return this.#progress.flatMap(({ delivery, receipts }, sequence) =>
      delivery.events.map((event) => {
        const lane = this.#laneOf(delivery, event);
        return { item: event.item, lane, sequence, receipts, ends: endsOf(event) };
      }),
    );
  }

  /** The order a sender relies on: of its events of a source, if it waited for each. */
  #laneOf({ route, sender }: Delivery, { item, source, projection }: DraftedEvent): string {
    if (route === 'free' || sender >= FIRST_BURST_SENDER || this.#traffic.eager.has(sender)) return item;
    return `${route}/${projection ?? source}`;
  }

  #next(queue: readonly Progress[]): void {
    const [first, ...rest] = queue;
    if (first === undefined) return;
    const eager = this.#traffic.eager.has(first.delivery.sender);
    this.#world.after(first.delivery.gapMs, null, () => {
      this.#send(first, eager ? () => undefined : () => this.#next(rest));
      if (eager) this.#next(rest);
    });
  }

  #send(progress: Progress, acknowledged: () => void): void {
    if (progress.acknowledged) return;
    const copies = this.#faults.strikes('duplicated') ? 2 : 1;
    for (let copy = 0; copy < copies; copy++) {
      if (!this.#faults.strikes('request_lost')) this.#transmit(progress, acknowledged);
    }
    const [least, most] = PATIENCE_MS;
    this.#sendAfter(this.#random.between(least, most), progress, acknowledged);
  }

  #sendAfter(delayMs: number, progress: Progress, acknowledged: () => void): void {
    progress.cancelNext();
    progress.cancelNext = this.#world.after(delayMs, null, () => this.#send(progress, acknowledged));
  }

  #transmit(progress: Progress, acknowledged: () => void): void {
    const { key, events, broken, route, forged } = progress.delivery;
    const text = JSON.stringify({ ...(forged ? { forged } : {}), key, events, broken });
    const life = this.#fleet.pick();
    this.#world.after(this.#tripMs(), null, () => {
      if (life === null || !life.serving) return;
      life.serve(this.#namespaceOf(progress.delivery), route, Buffer.from(text), (answer) => {
        this.#judge(progress.delivery, answer, life);
        if (this.#faults.strikes('answer_lost')) return;
        this.#world.after(this.#tripMs(), null, () => this.#receive(progress, answer, acknowledged));
      });
    });
  }

  #tripMs(): number {
    const [least, most] = TRIP_MS;
    const late = this.#faults.strikes('delayed') ? this.#random.between(0, LATE_MS) : 0;
    return this.#random.between(least, most) + late;
  }

  /** ADM-1: when a 2xx leaves, what it stands for is committed. */
  #judge(
    { key, events, forged }: Delivery,
    { status, body, retryAfter }: WebhookAnswer,
    { isRemoved }: Life,
  ): void {
    this.#world.trace.note(`answer ${key} ${status} ${retryAfter ?? ''} ${body}`);
    if (status === 503 || (status === 404 && isRemoved)) return;
    if (forged && status === 401) return;
    if (!forged && (status === 200 || status === 202)) this.#judgeAcknowledged(key, events, body);
    else this.#world.violation('bug', key, `answered ${status} ${body}`);
  }

  #judgeAcknowledged(key: string, events: readonly DraftedEvent[], body: string): void {
    const { receipt } = JSON.parse(body) as { receipt: string };
    const missing = events.find(({ item }) => !this.#mirror.names.has(item));
    if (!this.#mirror.receipts.has(receipt) || missing !== undefined)
      this.#world.violation('early_answer', missing?.item ?? key, `acknowledged before its commit: ${body}`);
  }

  #receive(progress: Progress, answer: WebhookAnswer, acknowledged: () => void): void {
    const { status, body, retryAfter } = answer;
    const isRefused = status === 401;
    if (isOverload(answer)) this.#sendAfter(1_000 * Number(retryAfter), progress, acknowledged);
    if (status >= 300 && !isRefused) return;
    if (!isRefused) progress.receipts.push((JSON.parse(body) as { receipt: string }).receipt);
    if (progress.acknowledged) return;
    progress.cancelNext();
    progress.acknowledged = true;
    acknowledged();
  }
}

/** ADM-3: whoever is told so comes back when it was told to. */
const isOverload = ({ status, body }: WebhookAnswer): boolean =>
  status === 503 && (JSON.parse(body) as { code: string }).code === 'overloaded';

/** Where an item may stand in the end; whether it got there rightly is for the rules about rows. */
function endsOf({ plan, projection }: DraftedEvent): readonly string[] {
  const does = new Set(plan.map((step) => step.does));
  // Somebody may have cancelled it.
  const ends = ['dead', 'held', 'pending', 'skipped'];
  if (['return', 'late', 'deaf', 'block'].some((one) => does.has(one as never))) ends.push('completed');
  if (projection !== undefined) ends.push('coalesced');
  return ends;
}
