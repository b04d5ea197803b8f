import type { Clock } from '../core/clock.js';
import { QUEUE_CLASSES } from '../core/work.js';
import type { IngressLoad } from '../ingress/server.js';
import type { ShapeOccupancy } from '../scheduler/central-claim-scheduler.js';
import { POOL_NAMES, type Store } from '../store/store.js';
import type { MetricSet } from './metric-set.js';
import type { PackDirectory } from './pack-names.js';

interface PackPoolGauge {
  readonly slots: number;
  readonly occupancy: readonly ShapeOccupancy[];
}

/** What is looked at when somebody scrapes, and costs nothing in between. */
export interface GaugeSources {
  readonly store: Pick<Store, 'queueGauges' | 'pressure' | 'pools'>;
  readonly packs: PackDirectory;
  readonly clock: Clock;
  readonly ingressLoad: () => IngressLoad;
  readonly heldLeases: () => number;
  /** What runs here, by pack id; a pack that is paused has nothing. */
  readonly pools: () => ReadonlyMap<number, PackPoolGauge>;
}

/** A scrape does without a reading that takes longer: a store that is out must not take the other metrics with it. */
const PATIENCE_MS = 2_000;

const SOURCES = ['queue', 'pressure', 'pool'] as const;
type Source = (typeof SOURCES)[number];

const OF_PACKS = [
  'lanehead_pack_active',
  'lanehead_executor_slots',
  'lanehead_claim_permits',
  'lanehead_waiting_slots',
] as const;
const OF_THE_QUEUE = [
  'lanehead_processing_rows',
  'lanehead_processing_stale_rows',
  'lanehead_held_rows',
  'lanehead_oldest_ready_seconds',
] as const;

export class ScrapedGauges {
  readonly #metrics: MetricSet;
  readonly #sources: GaugeSources;

  constructor(metrics: MetricSet, sources: GaugeSources) {
    this.#metrics = metrics;
    this.#sources = sources;
    for (const source of SOURCES) metrics.count('lanehead_scrape_failures_total', { source }, 0);
  }

  /** Never rejects. */
  async refresh(): Promise<void> {
    const { ingressLoad, heldLeases } = this.#sources;
    const { waitingReceipts, ...held } = ingressLoad();
    for (const stage of ['unverified', 'verified'] as const) {
      this.#metrics.set('lanehead_admission_in_flight_requests', { stage }, held[stage].requests);
      this.#metrics.set('lanehead_admission_in_flight_bytes', { stage }, held[stage].bytes);
    }
    this.#metrics.set('lanehead_commit_waiting_receipts', {}, waitingReceipts);
    this.#metrics.set('lanehead_held_leases', {}, heldLeases());
    this.#readPacks();
    await Promise.all([
      this.#read('queue', () => this.#readQueue()),
      this.#read('pressure', () => this.#readPressure()),
      this.#read('pool', () => this.#readPools()),
    ]);
  }

  async #read(source: Source, reading: () => Promise<void>): Promise<void> {
    const patience = new AbortController();
    const late = this.#sources.clock.sleep(PATIENCE_MS, patience.signal).then(() => 'late' as const);
    const ended = await Promise.race([reading().catch(() => 'failed' as const), late]);
    patience.abort();
    if (ended !== undefined) this.#metrics.count('lanehead_scrape_failures_total', { source });
  }

  /** All in one turn, so that permits and waiting slots are those of one instant. */
  #readPacks(): void {
    for (const name of OF_PACKS) this.#metrics.forget(name);
    const pools = this.#sources.pools();
    for (const { packId, namespace, pack, status } of this.#sources.packs.served()) {
      this.#metrics.set('lanehead_pack_active', { namespace, pack }, status === 'active' ? 1 : 0);
      this.#metrics.set('lanehead_executor_slots', { namespace, pack }, pools.get(packId)?.slots ?? 0);
      for (const { shape, waiting, permits } of pools.get(packId)?.occupancy ?? []) {
        this.#metrics.set('lanehead_claim_permits', { namespace, pack, shape }, permits);
        this.#metrics.set('lanehead_waiting_slots', { namespace, pack, shape }, waiting);
      }
    }
  }

  async #readQueue(): Promise<void> {
    const { store, packs } = this.#sources;
    for (const name of OF_THE_QUEUE) this.#metrics.forget(name);
    for (const gauge of await store.queueGauges(packs.served().map(({ packId }) => packId))) {
      const pack = packs.of(gauge.packId);
      this.#metrics.set('lanehead_held_rows', pack, gauge.held);
      this.#metrics.set('lanehead_processing_rows', pack, gauge.processing);
      this.#metrics.set('lanehead_processing_stale_rows', pack, gauge.staleProcessing);
      for (const queueClass of QUEUE_CLASSES) {
        const labels = { ...pack, queue_class: queueClass };
        const oldestMs = gauge.oldestReadyMs[queueClass] ?? 0;
        this.#metrics.set('lanehead_oldest_ready_seconds', labels, oldestMs / 1_000);
      }
    }
  }

  async #readPressure(): Promise<void> {
    const { statementMs, poolWaitMs, inboxDepth, walBytes } = await this.#sources.store.pressure();
    this.#metrics.set('lanehead_store_statement_seconds', {}, statementMs / 1_000);
    this.#metrics.set('lanehead_store_pool_wait_seconds', {}, (poolWaitMs ?? 0) / 1_000);
    this.#metrics.set('lanehead_store_inbox_calls', {}, inboxDepth ?? 0);
    this.#metrics.set('lanehead_store_wal_bytes', {}, walBytes ?? 0);
  }

  async #readPools(): Promise<void> {
    const pools = await this.#sources.store.pools();
    for (const pool of POOL_NAMES) {
      const gauge = pools[pool];
      if (gauge === undefined) continue;
      this.#metrics.set('lanehead_store_pool_max_connections', { pool }, gauge.size);
      this.#metrics.set('lanehead_store_pool_connections', { pool, state: 'leased' }, gauge.leased);
      this.#metrics.set('lanehead_store_pool_connections', { pool, state: 'idle' }, gauge.idle);
      this.#metrics.set('lanehead_store_pool_waiting_calls', { pool }, gauge.waiting);
    }
  }
}
