import { numberOfDelivery } from '../pushes.js';

/** Items of a drain are numbered round the lanes: `number % lanes` is the lane; its place in it follows from the order. */
export class OrderLedger {
  readonly #lanes: number;
  readonly #next: Uint32Array;
  readonly #lastMs: Float64Array;
  /** From one start in a lane to the next one. */
  readonly turnsMs: number[] = [];
  started = 0;
  violations = 0;

  readonly #place: (number: number) => number;

  /** @param order of all numbers; `null`: as they are numbered */
  constructor(lanes: number, order: readonly number[] | null = null) {
    this.#lanes = lanes;
    this.#place = order === null ? (number) => Math.floor(number / lanes) : placesIn(order, lanes);
    this.#next = new Uint32Array(lanes);
    this.#lastMs = new Float64Array(lanes);
  }

  /** Its flow starts now. Anything but the lane's next one is a violation: too early, too late, or again. */
  start(deliveryKey: string): void {
    const number = numberOfDelivery(deliveryKey);
    const lane = number % this.#lanes;
    if (this.#place(number) !== this.#next[lane]) this.violations++;
    this.#next[lane]!++;
    this.started++;
    const now = performance.now();
    if (this.#lastMs[lane]! > 0) this.turnsMs.push(now - this.#lastMs[lane]!);
    this.#lastMs[lane] = now;
  }
}

function placesIn(order: readonly number[], lanes: number): (number: number) => number {
  const lengths = new Uint32Array(lanes);
  const places = new Map(order.map((number) => [number, lengths[number % lanes]!++]));
  return (number) => places.get(number) ?? -1;
}
