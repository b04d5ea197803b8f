/** A heap of what will happen, earliest first; of the same moment, first come first. */
export interface Queued {
  readonly at: number;
  readonly order: number;
}

const isBefore = (one: Queued, other: Queued): boolean =>
  one.at < other.at || (one.at === other.at && one.order < other.order);

export class EventQueue<E extends Queued> {
  readonly #heap: E[] = [];

  get size(): number {
    return this.#heap.length;
  }

  push(event: E): void {
    const heap = this.#heap;
    let place = heap.push(event) - 1;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (!isBefore(event, heap[parent]!)) break;
      heap[place] = heap[parent]!;
      place = parent;
    }
    heap[place] = event;
  }

  pop(): E | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let place = 0;
    for (;;) {
      let child = 2 * place + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++;
      if (!isBefore(heap[child]!, last)) break;
      heap[place] = heap[child]!;
      place = child;
    }
    heap[place] = last;
    return first;
  }
}
