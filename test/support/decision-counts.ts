import type { AdmissionDecision, DecisionObserver, ShedReason } from '../../src/ingress/decision.js';

/** Requests by how they ended, and those refused for overload by the reason. */
export class DecisionCounts {
  readonly decisions: Partial<Record<AdmissionDecision, number>> = {};
  readonly shed: Partial<Record<ShedReason, number>> = {};

  readonly observe: DecisionObserver = (decision, details) => {
    this.decisions[decision] = (this.decisions[decision] ?? 0) + 1;
    const shed = details?.shed ?? null;
    if (shed !== null) this.shed[shed] = (this.shed[shed] ?? 0) + 1;
  };
}
