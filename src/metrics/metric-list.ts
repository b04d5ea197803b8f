/**
 * Every metric of `/metrics`: the one list that the registry is built from and that `docs/metrics.md`, the dashboard
 * and the alert rules are checked against. Names and units follow Prometheus (base units, `_total` for counters).
 *
 * Labels are few by rule: what the operator configured (namespace, pack, route), or a closed set (`label-words.ts`). Nothing
 * that a sender wrote, no key and no id ever labels a metric. Histograms have no namespace: it would multiply buckets.
 */
export interface Metric {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly labels: readonly string[];
  readonly help: string;
  readonly buckets?: readonly number[];
  /** Where it exists; default: everywhere. */
  readonly only?: 'sqlite' | 'mysql' | 'stage timing';
}

/** From what a look-up takes to what a sender waits for. */
const REQUEST_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** From an idle process to a backlog of a day. */
const WAIT_SECONDS = [0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60, 300, 1_800, 7_200, 28_800, 86_400];
/** From a flow that does nothing to one at its deadline. */
const FLOW_SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const STAGE_SECONDS = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30];

const PACK = ['namespace', 'pack'] as const;
const ROUTE = ['namespace', 'pack', 'route'] as const;

export const METRICS = {
  lanehead_info: {
    type: 'gauge',
    labels: ['version', 'engine', 'role'],
    help: 'Always 1; says what runs here.',
  },

  lanehead_pack_active: {
    type: 'gauge',
    labels: PACK,
    help: '1: the pack is in service; 0: it is paused or retired, and nothing of it is claimed.',
  },

  // ── admission ──
  lanehead_admission_requests_total: {
    type: 'counter',
    labels: [...ROUTE, 'decision'],
    help: 'Requests by how they ended; namespace, pack and route are empty where the URL names nothing served here.',
  },
  lanehead_admission_retries_total: {
    type: 'counter',
    labels: ['reason'],
    help: 'Requests answered 503, by the reason their sender was given for coming again.',
  },
  lanehead_admission_shed_total: {
    type: 'counter',
    labels: ['reason'],
    help: 'Requests refused as overloaded, by what there was too much of.',
  },
  lanehead_admission_duration_seconds: {
    type: 'histogram',
    labels: ['decision'],
    buckets: REQUEST_SECONDS,
    help: 'From the head of a request to its decision, the reading of its body included.',
  },
  lanehead_admission_in_flight_requests: {
    type: 'gauge',
    labels: ['stage'],
    help: 'Requests not yet answered: unverified (being read and verified), or verified.',
  },
  lanehead_admission_in_flight_bytes: {
    type: 'gauge',
    labels: ['stage'],
    help: 'Body bytes held by the requests in flight.',
  },
  lanehead_commit_waiting_receipts: {
    type: 'gauge',
    labels: [],
    help: 'Verified receipts that wait for the next group commit.',
  },
  lanehead_commit_duration_seconds: {
    type: 'histogram',
    labels: ['outcome'],
    buckets: REQUEST_SECONDS,
    help: 'Time of one group commit: stored, refused, unavailable or failed.',
  },
  lanehead_commit_receipts: {
    type: 'histogram',
    labels: [],
    buckets: [1, 2, 4, 8, 16, 32, 64],
    help: 'Receipts that one group commit has stored.',
  },

  // ── the queue ──
  lanehead_claim_decisions_total: {
    type: 'counter',
    labels: [...PACK, 'scope', 'decision', 'probe'],
    help: 'Decisions of the claim limiter on scans, by the queue classes of the scan and the probe it heeded (admission: this process admits).',
  },
  lanehead_claim_waits_total: {
    type: 'counter',
    labels: [...PACK, 'scope'],
    help: 'Decisions of the claim limiter that made the scheduler rest while slots waited.',
  },
  lanehead_claim_waiting_slots: {
    type: 'gauge',
    labels: [...PACK, 'scope'],
    help: 'Executor slots that waited when a scan for them was last decided on.',
  },
  lanehead_claim_permits: {
    type: 'gauge',
    labels: [...PACK, 'shape'],
    help: 'Waiting slots that the scan in flight has reserved, by their shape; all of one shape, and 0 between scans.',
  },
  lanehead_waiting_slots: {
    type: 'gauge',
    labels: [...PACK, 'shape'],
    help: 'Executor slots of this process that wait for an item, by their shape.',
  },
  lanehead_scans_total: {
    type: 'counter',
    labels: [...PACK, 'shape', 'kind'],
    help: 'Looks at the queue, by the shape of the slots they were for: peek, claim, or reclaim (of expired leases alone).',
  },
  lanehead_scan_failures_total: {
    type: 'counter',
    labels: PACK,
    help: 'Looks at the queue that failed.',
  },
  lanehead_claimed_items_total: {
    type: 'counter',
    labels: [...PACK, 'queue_class', 'kind'],
    help: 'Items claimed: fresh, or reclaimed from an expired lease.',
  },
  lanehead_claim_misses_total: {
    type: 'counter',
    labels: PACK,
    help: 'Candidates of a claim that somebody else was faster with, or that were not claimable after all.',
  },
  lanehead_limited_claims_total: {
    type: 'counter',
    labels: [...PACK, 'limit'],
    help: 'Claims that brought less than they asked for because of a limit that the pack declares: of the pack, the namespace, or a source.',
  },
  lanehead_expired_items_total: {
    type: 'counter',
    labels: PACK,
    help: 'Items that ended because their lease ran out too often.',
  },
  lanehead_processing_rows: {
    type: 'gauge',
    labels: PACK,
    help: 'Rows of the pack in this namespace that are in processing, over all processes, expired leases included.',
  },
  lanehead_processing_stale_rows: {
    type: 'gauge',
    labels: PACK,
    help: 'Rows in processing whose lease has expired.',
  },
  lanehead_processing_budget_rows: {
    type: 'gauge',
    labels: [],
    help: 'Rows that each pack of each namespace may have in processing, over all processes.',
  },
  lanehead_held_rows: {
    type: 'gauge',
    labels: PACK,
    help: 'Rows that hold their lane until a person decides (lanehead lanes), over all processes.',
  },
  lanehead_oldest_ready_seconds: {
    type: 'gauge',
    labels: [...PACK, 'queue_class'],
    help: 'How long the first ready item has been due; 0: none is ready.',
  },
  lanehead_readiness_repairs_total: {
    type: 'counter',
    labels: PACK,
    help: 'Readiness marks that the sweep had to correct.',
  },

  // ── execution ──
  lanehead_executor_slots: {
    type: 'gauge',
    labels: PACK,
    help: 'Executor slots of the pack in this namespace and process; 0 while it is paused, or where nothing is drained.',
  },
  lanehead_held_leases: {
    type: 'gauge',
    labels: [],
    help: 'Items that this process holds under lease.',
  },
  lanehead_queue_wait_seconds: {
    type: 'histogram',
    labels: ['pack', 'queue_class'],
    buckets: WAIT_SECONDS,
    help: 'From when an item was due to its claim, the time behind others of its lane included.',
  },
  lanehead_flow_duration_seconds: {
    type: 'histogram',
    labels: ['pack', 'route'],
    buckets: FLOW_SECONDS,
    help: 'Time of a flow.',
  },
  lanehead_work_duration_seconds: {
    type: 'histogram',
    labels: ['pack', 'route'],
    buckets: FLOW_SECONDS,
    help: 'From when a slot took an item up to its durable outcome.',
  },
  lanehead_work_finished_total: {
    type: 'counter',
    labels: [...ROUTE, 'queue_class', 'outcome', 'state'],
    help: 'Runs by their outcome and the state it left the item in.',
  },
  lanehead_work_retries_total: {
    type: 'counter',
    labels: [...ROUTE, 'reason'],
    help: 'Failed runs that will be repeated, by the code of the failure.',
  },
  lanehead_outcomes_lost_total: {
    type: 'counter',
    labels: PACK,
    help: 'Outcomes refused because the lease belonged to somebody else.',
  },
  lanehead_outcomes_unreported_total: {
    type: 'counter',
    labels: PACK,
    help: 'Outcomes that could not be stored while their lease could still be believed.',
  },
  lanehead_calls_abandoned_total: {
    type: 'counter',
    labels: [...PACK, 'stage'],
    help: 'Batch reads and flows that ignored their abort and were given up.',
  },
  lanehead_slot_crashes_total: {
    type: 'counter',
    labels: PACK,
    help: 'Exceptions that left an executor; its slot was restarted.',
  },

  // ── the store ──
  lanehead_store_statement_seconds: {
    type: 'gauge',
    labels: [],
    help: 'Moving average of the time of a statement.',
  },
  lanehead_store_inbox_calls: {
    type: 'gauge',
    labels: [],
    only: 'sqlite',
    help: 'Calls that wait for the store thread.',
  },
  lanehead_store_wal_bytes: {
    type: 'gauge',
    labels: [],
    only: 'sqlite',
    help: 'Size of the write-ahead log.',
  },
  lanehead_store_pool_wait_seconds: {
    type: 'gauge',
    labels: [],
    only: 'mysql',
    help: 'How long the first call in line has waited for a connection.',
  },
  lanehead_store_pool_connections: {
    type: 'gauge',
    labels: ['pool', 'state'],
    only: 'mysql',
    help: 'Open connections of a pool, leased or idle.',
  },
  lanehead_store_pool_max_connections: {
    type: 'gauge',
    labels: ['pool'],
    only: 'mysql',
    help: 'Connections that a pool may open.',
  },
  lanehead_store_pool_waiting_calls: {
    type: 'gauge',
    labels: ['pool'],
    only: 'mysql',
    help: 'Calls that wait for a connection of a pool.',
  },
  lanehead_scrape_failures_total: {
    type: 'counter',
    labels: ['source'],
    help: 'Readings that a scrape had to do without: queue, pressure or pool.',
  },

  // ── stage timing ──
  lanehead_stage_duration_seconds: {
    type: 'histogram',
    labels: ['stage'],
    buckets: STAGE_SECONDS,
    only: 'stage timing',
    help: 'Time of one stage of admission or drain.',
  },

  // ── the process, under the names that dashboards of Node know ──
  process_cpu_seconds_total: {
    type: 'counter',
    labels: [],
    help: 'CPU time of the process, all threads.',
  },
  process_start_time_seconds: {
    type: 'gauge',
    labels: [],
    help: 'Start of the process, seconds since the epoch.',
  },
  process_resident_memory_bytes: {
    type: 'gauge',
    labels: [],
    help: 'Resident memory of the process.',
  },
  nodejs_heap_size_used_bytes: {
    type: 'gauge',
    labels: [],
    help: 'Heap in use, of the main thread.',
  },
  nodejs_heap_size_total_bytes: {
    type: 'gauge',
    labels: [],
    help: 'Heap allocated, of the main thread.',
  },
  nodejs_external_memory_bytes: {
    type: 'gauge',
    labels: [],
    help: 'Memory of buffers and other objects outside the heap, of the main thread.',
  },
  nodejs_eventloop_lag_mean_seconds: {
    type: 'gauge',
    labels: [],
    help: 'Mean delay of the event loop since the last scrape.',
  },
  nodejs_eventloop_lag_p99_seconds: {
    type: 'gauge',
    labels: [],
    help: '99th percentile of the delay of the event loop since the last scrape.',
  },
  nodejs_eventloop_lag_max_seconds: {
    type: 'gauge',
    labels: [],
    help: 'Longest delay of the event loop since the last scrape.',
  },
} as const satisfies Readonly<Record<`${'lanehead' | 'process' | 'nodejs'}_${string}`, Metric>>;

export type MetricName = keyof typeof METRICS;
type NamesOf<Type extends Metric['type']> = {
  [Name in MetricName]: (typeof METRICS)[Name]['type'] extends Type ? Name : never;
}[MetricName];
export type CounterName = NamesOf<'counter'>;
export type GaugeName = NamesOf<'gauge'>;
export type HistogramName = NamesOf<'histogram'>;

/** What exists in a process like this one. */
export interface MetricScope {
  readonly engine: 'sqlite' | 'mysql';
  readonly stageTiming: boolean;
}

export function metricNames({ engine, stageTiming }: MetricScope): readonly MetricName[] {
  return (Object.keys(METRICS) as MetricName[]).filter((name) => {
    const { only }: Metric = METRICS[name];
    return only === undefined || only === engine || (only === 'stage timing' && stageTiming);
  });
}
