/** What a running system tells about itself: metrics for who scrapes, stage timing where it is asked for, traces. */
import type { Clock } from '../core/clock.js';
import { systemProcessMeter } from '../core/system.js';
import type { Tracing } from '../core/tracing.js';
import type { DecisionObserver } from '../ingress/decision.js';
import type { CommitReport } from '../ingress/group-commit.js';
import type { ServedPack } from '../ingress/route-table.js';
import type { Ingress } from '../ingress/server.js';
import { PackDirectory } from '../metrics/pack-names.js';
import { StageTiming } from '../metrics/stage-timing.js';
import { SystemMetrics } from '../metrics/system-metrics.js';
import type { FlowLog } from '../packs/types.js';
import type { Store } from '../store/store.js';
import type { Supervisor } from '../supervisor/supervisor.js';
import { type SupervisorSettings, supervisorSettings } from '../supervisor/supervisor-settings.js';
import { openTracing } from '../tracing/open-telemetry.js';
import type { Settings } from './options.js';
import { RareWarning } from './rare-warning.js';
import { VERSION } from './version.js';

export interface SignalsOptions {
  readonly settings: Settings;
  readonly store: Store;
  readonly served: () => readonly ServedPack[];
  readonly clock: Clock;
  readonly log: FlowLog;
}

export class Signals {
  readonly tracing: Tracing | null;
  readonly #options: SignalsOptions;
  readonly #drain: SupervisorSettings;
  readonly #metrics: SystemMetrics | null;
  readonly #timing: StageTiming | null;

  /** Looks for OpenTelemetry first, which is loaded where it is installed. */
  static async open(options: SignalsOptions): Promise<Signals> {
    const { trustTraceparent } = options.settings;
    return new Signals(
      options,
      await openTracing({ clock: options.clock, version: VERSION, trustTraceparent }),
    );
  }

  private constructor(options: SignalsOptions, tracing: Tracing | null) {
    const { settings, served, log } = options;
    const packs = new PackDirectory(served);
    this.#options = options;
    this.#drain = supervisorSettings(settings.drain);
    this.tracing = tracing;
    // Without an admin listener nobody could scrape, so nothing is counted.
    this.#metrics = settings.admin === undefined ? null : this.#openMetrics(packs);
    this.#timing = settings.stageTiming ? new StageTiming(log, this.#metrics?.set ?? null, packs) : null;
  }

  get onDecision(): DecisionObserver {
    const metrics = this.#metrics?.admission;
    const timing = this.#timing;
    const { clock, log } = this.#options;
    const shed = new RareWarning(clock, (refused, fields) =>
      log.warn('requests are refused as overloaded', { ...fields, refused }),
    );
    return (decision, details) => {
      if (details?.shed) shed.due({ ...details.subject, reason: details.shed });
      metrics?.decided(decision, details);
      timing?.decided(decision, details);
    };
  }

  get onCommitEnded(): (commit: CommitReport) => void {
    const metrics = this.#metrics?.admission;
    return (commit) => metrics?.commitEnded(commit);
  }

  /** What `/metrics` answers; `null`: it is not served. */
  get scrape(): (() => ReturnType<SystemMetrics['scrape']>) | null {
    const metrics = this.#metrics;
    return metrics && (() => metrics.scrape());
  }

  watch(ingress: Pick<Ingress, 'load'>, supervisor: Supervisor | null): void {
    const { store, clock, log } = this.#options;
    const timing = this.#timing;
    this.#metrics?.scrapeFrom({
      store,
      clock,
      ingressLoad: () => ingress.load,
      heldLeases: () => supervisor?.heldLeases ?? 0,
      pools: () =>
        new Map(
          [...(supervisor?.pools ?? [])].map(([packId, { plan, scheduler }]) => [
            packId,
            { slots: plan.settings.workersPerPack, occupancy: scheduler.occupancy },
          ]),
        ),
    });
    if (supervisor === null) return;
    const denied = new RareWarning(clock, (scans, fields) =>
      log.warn('the store is pressed: claims are held back', { ...fields, scans }),
    );
    supervisor.events.on('claimDecided', ({ packId, decision: { kind, probe } }) => {
      if (kind === 'denied' || kind === 'stale_only') denied.due({ packId, decision: kind, probe });
    });
    this.#metrics?.watch(supervisor.events);
    if (timing !== null) supervisor.events.on('finished', (event) => timing.finished(event));
  }

  /** MET-4: one line that says what was started, and with which limits. */
  async logStart(): Promise<void> {
    const { settings, store, served, log } = this.#options;
    const { workersPerPack, queueProfile, maxProcessingRows, leaseMs, flowDeadlineMs } = this.#drain;
    log.info('started', {
      version: VERSION,
      role: settings.role,
      engine: store.engine,
      namespaces: settings.namespaces,
      packs: [...new Set(served().map(({ pack, installed }) => `${pack.name}@${installed.version}`))],
      ...(settings.role === 'ingress'
        ? {}
        : { workersPerPack, queueProfile, maxProcessingRows, leaseMs, flowDeadlineMs }),
      pools: await store.pools(),
      metrics: this.#metrics !== null,
      tracing: this.tracing !== null,
      stageTiming: settings.stageTiming,
    });
  }

  close(): void {
    this.#metrics?.close();
  }

  #openMetrics(packs: PackDirectory): SystemMetrics {
    const { settings, store } = this.#options;
    return new SystemMetrics({
      scope: { engine: store.engine, stageTiming: settings.stageTiming },
      packs,
      meter: systemProcessMeter(),
      info: { version: VERSION, role: settings.role },
      maxProcessingRows: this.#drain.maxProcessingRows,
    });
  }
}
