import { LIMIT_SCOPES } from '../core/limits.js';
import { FAILURE_CODES, OUTCOME_KINDS } from '../core/outcome.js';
import { ADMISSION_STAGES, DRAIN_STAGES } from '../core/stopwatch.js';
import { QUEUE_CLASSES, WORK_ITEM_STATES } from '../core/work.js';
import { RETRY_REASONS } from '../ingress/answer.js';
import { ADMISSION_DECISIONS, SHED_REASONS } from '../ingress/decision.js';
import { COMMIT_OUTCOMES } from '../ingress/group-commit.js';
import { CLAIM_DECISIONS, PROBES } from '../scheduler/claim-limiter.js';
import { SHAPE_NAMES, SHAPES } from '../scheduler/shapes.js';
import { SCAN_KINDS } from '../scheduler/work-events.js';
import { POOL_NAMES } from '../store/store.js';
import type { METRICS, MetricName } from './metric-list.js';

/** `interactive+default`, `bulk`, or `all`: what the slots of a shape may run. */
export const scopeOf = ({ queueClasses }: Pick<(typeof SHAPES)[number], 'queueClasses'>): string =>
  queueClasses.length === 0 ? 'all' : queueClasses.join('+');

const SCOPE = [...new Set(SHAPES.map(scopeOf))];
const IN_FLIGHT = ['unverified', 'verified'] as const;
const NOT_PRESSED = 'none';

/** Labels whose values an operator chose, or a release. */
export const FREE_LABELS = ['namespace', 'pack', 'route', 'version'] as const;

/** The closed set of every other label. A word that is missing here is an error of types where it is counted. */
export const LABEL_WORDS = {
  lanehead_info: { engine: ['sqlite', 'mysql'], role: ['all', 'ingress', 'worker'] },
  lanehead_admission_requests_total: { decision: ADMISSION_DECISIONS },
  lanehead_admission_retries_total: { reason: RETRY_REASONS },
  lanehead_admission_shed_total: { reason: SHED_REASONS },
  lanehead_admission_duration_seconds: { decision: ADMISSION_DECISIONS },
  lanehead_admission_in_flight_requests: { stage: IN_FLIGHT },
  lanehead_admission_in_flight_bytes: { stage: IN_FLIGHT },
  lanehead_commit_duration_seconds: { outcome: COMMIT_OUTCOMES },
  lanehead_claim_decisions_total: {
    scope: SCOPE,
    decision: CLAIM_DECISIONS,
    probe: [...PROBES, 'degraded', 'admission', NOT_PRESSED],
  },
  lanehead_claim_waits_total: { scope: SCOPE },
  lanehead_claim_waiting_slots: { scope: SCOPE },
  lanehead_claim_permits: { shape: SHAPE_NAMES },
  lanehead_waiting_slots: { shape: SHAPE_NAMES },
  lanehead_scans_total: { shape: SHAPE_NAMES, kind: SCAN_KINDS },
  lanehead_limited_claims_total: { limit: LIMIT_SCOPES },
  lanehead_claimed_items_total: { queue_class: QUEUE_CLASSES, kind: ['fresh', 'reclaimed'] },
  lanehead_oldest_ready_seconds: { queue_class: QUEUE_CLASSES },
  lanehead_queue_wait_seconds: { queue_class: QUEUE_CLASSES },
  lanehead_work_finished_total: {
    queue_class: QUEUE_CLASSES,
    outcome: OUTCOME_KINDS,
    state: WORK_ITEM_STATES,
  },
  lanehead_work_retries_total: { reason: [...FAILURE_CODES, 'other'] },
  lanehead_calls_abandoned_total: { stage: ['batch_read', 'flow'] },
  lanehead_store_pool_connections: { pool: POOL_NAMES, state: ['leased', 'idle'] },
  lanehead_store_pool_max_connections: { pool: POOL_NAMES },
  lanehead_store_pool_waiting_calls: { pool: POOL_NAMES },
  lanehead_scrape_failures_total: { source: ['queue', 'pressure', 'pool'] },
  lanehead_stage_duration_seconds: { stage: [...ADMISSION_STAGES, ...DRAIN_STAGES] },
} as const satisfies { readonly [Name in MetricName]?: Readonly<Record<string, readonly string[]>> };

type Words = typeof LABEL_WORDS;
type WordOf<Name extends MetricName, Label extends string> = Name extends keyof Words
  ? Label extends keyof Words[Name]
    ? Words[Name][Label] extends readonly (infer Word)[]
      ? Word
      : never
    : string
  : string;

export type LabelsOf<Name extends MetricName> = {
  readonly [Label in (typeof METRICS)[Name]['labels'][number]]: WordOf<Name, Label>;
};

/** The words of a label; `null`: an operator chose them. */
export function wordsOf(name: string, label: string): readonly string[] | null {
  const words: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = LABEL_WORDS;
  return words[name]?.[label] ?? null;
}
