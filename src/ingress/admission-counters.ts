import type { AdmissionDecision, DecisionObserver, ShedReason } from './decision.js';

export interface AdmissionCounts {
  /** Requests by how they ended. A 503 counts under its reason to come back. */
  readonly decisions: Readonly<Partial<Record<AdmissionDecision, number>>>;
  /** Those of `overloaded` by what there was too much of. */
  readonly shed: Readonly<Partial<Record<ShedReason, number>>>;
}

/** Counts every decision once (ADM-5, MET-1). Names are from closed sets: nothing a sender wrote becomes one. */
export class AdmissionCounters {
  readonly #decisions: Partial<Record<AdmissionDecision, number>> = {};
  readonly #shed: Partial<Record<ShedReason, number>> = {};

  readonly observe: DecisionObserver = (decision, shed) => {
    this.#decisions[decision] = (this.#decisions[decision] ?? 0) + 1;
    if (shed !== null) this.#shed[shed] = (this.#shed[shed] ?? 0) + 1;
  };

  /** A copy: it stands still. */
  get counts(): AdmissionCounts {
    return { decisions: { ...this.#decisions }, shed: { ...this.#shed } };
  }
}
