import type { MaterializeRequest, Store } from '../../src/store/store.js';

type Materialize = Store['materialize'];

/**
 * Stands between the ingress and the real store: every commit waits until the test lets it through, or fails as the
 * test says.
 */
export class CommitGate {
  /** What was asked of the store, in order, let through or not. */
  readonly asked: MaterializeRequest[] = [];
  #held: { readonly go: () => void; readonly fail: (error: unknown) => void }[] = [];
  #open = false;
  #wake: () => void = () => {};

  wrap = (real: Materialize): Materialize => {
    return async (request) => {
      this.asked.push(request);
      this.#wake();
      if (!this.#open) await new Promise<void>((go, fail) => this.#held.push({ go, fail }));
      return real(request);
    };
  };

  /** Resolves once `count` commits have been asked for in all. */
  async untilAsked(count: number): Promise<void> {
    while (this.asked.length < count) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Lets the waiting ones through, and everything after them. */
  open(): void {
    this.#open = true;
    this.letThrough();
  }

  letThrough(): void {
    for (const { go } of this.#held.splice(0)) go();
  }

  fail(error: unknown): void {
    for (const { fail } of this.#held.splice(0)) fail(error);
  }
}

/** Receipts in each commit that was asked for. */
export const groupSizes = (gate: CommitGate): number[] => gate.asked.map(({ receipts }) => receipts.length);
