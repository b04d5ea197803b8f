/**
 * What was sent and what was started, by source. A start is in order when it is the next one that was sent, or the
 * last one again (a retry), and when nothing else of its source is running.
 */
export class OrderLedger {
  readonly #places = new Map<string, number>();
  readonly #sent = new Map<string, number>();
  readonly #last = new Map<string, number>();
  readonly #running = new Map<string, number>();
  #starts = 0;
  #violations = 0;

  get starts(): number {
    return this.#starts;
  }

  get violations(): number {
    return this.#violations;
  }

  /** Deliveries are named once, in order of sending. */
  sent(source: string, id: string): void {
    const place = this.#sent.get(source) ?? 0;
    this.#sent.set(source, place + 1);
    this.#places.set(`${source}\n${id}`, place);
  }

  /** A flow begins. @returns to be called when it ends */
  started(source: string, id: string): () => void {
    const place = this.#places.get(`${source}\n${id}`);
    const last = this.#last.get(source) ?? -1;
    const running = this.#running.get(source) ?? 0;
    const inOrder = place !== undefined && (place === last || place === last + 1);
    this.#starts++;
    if (!inOrder || running > 0) this.#violations++;
    this.#last.set(source, Math.max(last, place ?? last));
    this.#running.set(source, running + 1);
    return () => {
      this.#running.set(source, this.#running.get(source)! - 1);
    };
  }
}
