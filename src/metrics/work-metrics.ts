import { FAILURE_CODES } from '../core/outcome.js';
import { QUEUE_CLASSES } from '../core/work.js';
import type { WorkEventMap, WorkEvents } from '../scheduler/work-events.js';
import type { ClaimedItem } from '../store/store.js';
import { scopeOf } from './label-words.js';
import type { MetricSet } from './metric-set.js';
import type { PackDirectory } from './pack-names.js';

/** MET-3: what the scheduler decided and found, and what became of the work. */
export class WorkMetrics {
  readonly #metrics: MetricSet;
  readonly #packs: PackDirectory;

  constructor(metrics: MetricSet, packs: PackDirectory, events: WorkEvents) {
    this.#metrics = metrics;
    this.#packs = packs;
    this.#watchScheduler(events);
    this.#watchWork(events);
  }

  #watchScheduler(events: WorkEvents): void {
    const metrics = this.#metrics;
    const packOf = (packId: number) => this.#packs.of(packId);
    events.on('claimDecided', (event) => this.#claimDecided(event));
    events.on('scanned', (event) => this.#scanned(event));
    events.on('scanFailed', ({ packId }) => metrics.count('lanehead_scan_failures_total', packOf(packId)));
    events.on('slotCrashed', ({ packId }) => metrics.count('lanehead_slot_crashes_total', packOf(packId)));
    events.on('repaired', ({ packId, marks }) =>
      metrics.count('lanehead_readiness_repairs_total', packOf(packId), marks),
    );
    events.on('claimed', ({ items }) => this.#claimed(items));
  }

  #watchWork(events: WorkEvents): void {
    const metrics = this.#metrics;
    const packOf = (packId: number) => this.#packs.of(packId);
    events.on('finished', (event) => this.#finished(event));
    events.on('lost', ({ item }) => metrics.count('lanehead_outcomes_lost_total', packOf(item.packId)));
    events.on('unreported', ({ item }) =>
      metrics.count('lanehead_outcomes_unreported_total', packOf(item.packId)),
    );
    events.on('abandoned', ({ item, stage }) => {
      const labels = { ...packOf(item.packId), stage: stage === 'flow' ? stage : ('batch_read' as const) };
      metrics.count('lanehead_calls_abandoned_total', labels);
    });
  }

  /** Items of one claim are of one pack and few classes: each is counted once for all of them. */
  #claimed(items: readonly ClaimedItem[]): void {
    const [first] = items;
    if (first === undefined) return;
    const pack = this.#packs.of(first.packId);
    for (const queueClass of QUEUE_CLASSES) {
      const mine = items.filter((item) => item.queueClass === queueClass);
      const reclaimed = mine.filter((item) => item.reclaimed).length;
      for (const [kind, by] of [
        ['fresh', mine.length - reclaimed],
        ['reclaimed', reclaimed],
      ] as const) {
        if (by === 0) continue;
        this.#metrics.count('lanehead_claimed_items_total', { ...pack, queue_class: queueClass, kind }, by);
      }
    }
  }

  #claimDecided({ packId, shape, waiting, decision }: WorkEventMap['claimDecided']): void {
    const labels = { ...this.#packs.of(packId), scope: scopeOf(shape) };
    const { kind, probe, restMs } = decision;
    this.#metrics.count('lanehead_claim_decisions_total', {
      ...labels,
      decision: kind,
      probe: probe ?? 'none',
    });
    this.#metrics.set('lanehead_claim_waiting_slots', labels, waiting);
    this.#metrics.count('lanehead_claim_waits_total', labels, restMs > 0 ? 1 : 0);
  }

  #scanned({ packId, kind, shape, result }: WorkEventMap['scanned']): void {
    const pack = this.#packs.of(packId);
    this.#metrics.count('lanehead_scans_total', { ...pack, shape, kind });
    if (result === null) return;
    if (result.misses > 0) this.#metrics.count('lanehead_claim_misses_total', pack, result.misses);
    for (const limit of result.limitedBy)
      this.#metrics.count('lanehead_limited_claims_total', { ...pack, limit });
    if (result.expired > 0) this.#metrics.count('lanehead_expired_items_total', pack, result.expired);
  }

  #finished({ item, outcome, state, elapsedMs, stages }: WorkEventMap['finished']): void {
    const { namespace, pack } = this.#packs.of(item.packId);
    const { route, queueClass } = item;
    const metrics = this.#metrics;
    metrics.count('lanehead_work_finished_total', {
      namespace,
      pack,
      route,
      queue_class: queueClass,
      outcome: outcome.kind,
      state,
    });
    if (outcome.kind === 'failed' && state === 'pending') {
      const reason = FAILURE_CODES.find((code) => code === outcome.error.code) ?? 'other';
      metrics.count('lanehead_work_retries_total', { namespace, pack, route, reason });
    }
    metrics.observe('lanehead_work_duration_seconds', { pack, route }, elapsedMs / 1_000);
    const { queue_wait: waitedMs, flow: flowMs } = stages;
    if (waitedMs !== undefined)
      metrics.observe('lanehead_queue_wait_seconds', { pack, queue_class: queueClass }, waitedMs / 1_000);
    if (flowMs !== undefined)
      metrics.observe('lanehead_flow_duration_seconds', { pack, route }, flowMs / 1_000);
  }
}
