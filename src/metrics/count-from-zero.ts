import { LIMIT_SCOPES } from '../core/limits.js';
import { QUEUE_CLASSES } from '../core/work.js';
import type { MetricSet } from './metric-set.js';
import type { PackNames } from './pack-names.js';

/**
 * What an increase is taken of must be there before it first happens: a series that is born at 1 has increased by 0, and
 * an alert on it would sleep through the first time.
 */
export function countFromZero(metrics: MetricSet, pack: PackNames, routes: readonly string[]): void {
  for (const name of OF_A_PACK) metrics.count(name, pack, 0);
  for (const stage of ['batch_read', 'flow'] as const)
    metrics.count('lanehead_calls_abandoned_total', { ...pack, stage }, 0);
  for (const limit of LIMIT_SCOPES) metrics.count('lanehead_limited_claims_total', { ...pack, limit }, 0);
  for (const route of routes) countRouteFromZero(metrics, { ...pack, route });
}

const OF_A_PACK = [
  'lanehead_scan_failures_total',
  'lanehead_claim_misses_total',
  'lanehead_expired_items_total',
  'lanehead_readiness_repairs_total',
  'lanehead_outcomes_lost_total',
  'lanehead_outcomes_unreported_total',
  'lanehead_slot_crashes_total',
] as const;

/** The ends that call for a person. What an item is held for was decided when it was stored, so both ends may come. */
function countRouteFromZero(metrics: MetricSet, route: PackNames & { readonly route: string }): void {
  metrics.count('lanehead_admission_requests_total', { ...route, decision: 'quarantined' }, 0);
  for (const queueClass of QUEUE_CLASSES) {
    for (const outcome of ['failed', 'dead'] as const) {
      for (const state of ['dead', 'held'] as const) {
        const labels = { ...route, queue_class: queueClass, outcome, state };
        metrics.count('lanehead_work_finished_total', labels, 0);
      }
    }
  }
}
