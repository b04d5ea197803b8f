import type { AdmissionStage, DrainStage, StageTimes } from '../core/stopwatch.js';
import type { AdmissionDecision, DecisionDetails } from '../ingress/decision.js';
import type { FlowLog } from '../packs/types.js';
import type { WorkEventMap } from '../scheduler/work-events.js';
import type { MetricSet } from './metric-set.js';
import type { PackDirectory } from './pack-names.js';

type Stage = AdmissionStage | DrainStage;

/**
 * Where the time of each request and each item went (MET-5, FLG-4): one log line each, and a histogram of the stages.
 * Names of the operator and ids of this house are all that a line says beside the times: no payload, no header, no
 * key and no identifier of a provider.
 */
export class StageTiming {
  readonly #log: FlowLog;
  readonly #metrics: MetricSet | null;
  readonly #packs: PackDirectory;

  /** @param metrics `null`: nobody scrapes */
  constructor(log: FlowLog, metrics: MetricSet | null, packs: PackDirectory) {
    this.#log = log;
    this.#metrics = metrics;
    this.#packs = packs;
  }

  decided(decision: AdmissionDecision, details?: DecisionDetails): void {
    if (details === undefined) return;
    const { subject, receiptId, elapsedMs, stages } = details;
    const stagesMs = this.#note(stages);
    this.#log.info('admission timed', {
      ...subject,
      receiptId,
      decision,
      elapsedMs: rounded(elapsedMs),
      stagesMs,
    });
  }

  finished({ item, outcome, state, elapsedMs, stages }: WorkEventMap['finished']): void {
    const { eventId, lease, route, queueClass, attempt } = item;
    this.#log.info('work timed', {
      ...this.#packs.of(item.packId),
      route,
      eventId,
      workId: lease.workId,
      queueClass,
      attempt,
      outcome: outcome.kind,
      state,
      elapsedMs: rounded(elapsedMs),
      stagesMs: this.#note(stages),
    });
  }

  #note(stages: StageTimes<Stage>): Record<string, number> {
    const stagesMs: Record<string, number> = {};
    for (const [stage, elapsedMs] of Object.entries(stages) as [Stage, number][]) {
      this.#metrics?.observe('lanehead_stage_duration_seconds', { stage }, elapsedMs / 1_000);
      stagesMs[stage] = rounded(elapsedMs);
    }
    return stagesMs;
  }
}

/** A microsecond is as exact as a stage can be measured. */
const rounded = (elapsedMs: number): number => Math.round(elapsedMs * 1_000) / 1_000;
