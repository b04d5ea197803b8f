import { RETRY_REASONS, retryReasonOf } from '../ingress/answer.js';
import { type AdmissionDecision, type DecisionDetails, SHED_REASONS } from '../ingress/decision.js';
import type { CommitReport } from '../ingress/group-commit.js';
import type { MetricSet } from './metric-set.js';

const NOWHERE = { namespace: '', pack: '', route: '' };

/** MET-1: what became of requests, and why senders were told to come again. */
export class AdmissionMetrics {
  readonly #metrics: MetricSet;

  constructor(metrics: MetricSet) {
    this.#metrics = metrics;
    for (const reason of RETRY_REASONS) metrics.count('lanehead_admission_retries_total', { reason }, 0);
    for (const reason of SHED_REASONS) metrics.count('lanehead_admission_shed_total', { reason }, 0);
  }

  decided(decision: AdmissionDecision, details?: DecisionDetails): void {
    const { namespace, pack, route } = details?.subject ?? NOWHERE;
    this.#metrics.count('lanehead_admission_requests_total', { namespace, pack, route, decision });
    const reason = retryReasonOf(decision);
    if (reason !== null) this.#metrics.count('lanehead_admission_retries_total', { reason });
    if (details === undefined) return;
    if (details.shed !== null) this.#metrics.count('lanehead_admission_shed_total', { reason: details.shed });
    this.#metrics.observe('lanehead_admission_duration_seconds', { decision }, details.elapsedMs / 1_000);
  }

  commitEnded({ outcome, receipts, elapsedMs }: CommitReport): void {
    this.#metrics.observe('lanehead_commit_duration_seconds', { outcome }, elapsedMs / 1_000);
    if (outcome === 'stored') this.#metrics.observe('lanehead_commit_receipts', {}, receipts);
  }
}
