import { numberOfDelivery } from '../pushes.js';

/** Items of a drain are numbered round the lanes: `number % lanes` is the lane, the rest its place in it. */
export class OrderLedger {
  readonly #lanes: number;
  readonly #next: Uint32Array;
  readonly #lastMs: Float64Array;
  /** From one start in a lane to the next one. */
  readonly turnsMs: number[] = [];
  started = 0;
  violations = 0;

  constructor(lanes: number) {
    this.#lanes = lanes;
    this.#next = new Uint32Array(lanes);
    this.#lastMs = new Float64Array(lanes);
  }

  /** Its flow starts now. Anything but the lane's next one is a violation: too early, too late, or again. */
  start(deliveryKey: string): void {
    const number = numberOfDelivery(deliveryKey);
    const lane = number % this.#lanes;
    if ((number - lane) / this.#lanes !== this.#next[lane]) this.violations++;
    this.#next[lane]!++;
    this.started++;
    const now = performance.now();
    if (this.#lastMs[lane]! > 0) this.turnsMs.push(now - this.#lastMs[lane]!);
    this.#lastMs[lane] = now;
  }
}
