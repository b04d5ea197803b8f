import type { ProcessMeter } from '../core/process-meter.js';
import type { WorkEvents } from '../scheduler/work-events.js';
import { AdmissionMetrics } from './admission-metrics.js';
import { countFromZero } from './count-from-zero.js';
import type { LabelsOf } from './label-words.js';
import type { MetricScope } from './metric-list.js';
import { MetricSet } from './metric-set.js';
import type { PackDirectory } from './pack-names.js';
import { setProcessMetrics } from './process-metrics.js';
import { type GaugeSources, ScrapedGauges } from './scraped-gauges.js';
import { WorkMetrics } from './work-metrics.js';

export interface SystemMetricsOptions {
  readonly scope: MetricScope;
  readonly packs: PackDirectory;
  readonly meter: ProcessMeter;
  readonly info: Pick<LabelsOf<'lanehead_info'>, 'version' | 'role'>;
  /** Of each pack in each namespace. */
  readonly maxProcessingRows: number;
}

/** All metrics of one running system, from its start to its stop. */
export class SystemMetrics {
  readonly set: MetricSet;
  readonly admission: AdmissionMetrics;
  readonly #options: SystemMetricsOptions;
  #gauges: ScrapedGauges | null = null;

  constructor(options: SystemMetricsOptions) {
    const { scope, info, packs, maxProcessingRows } = options;
    this.#options = options;
    this.set = new MetricSet(scope);
    this.admission = new AdmissionMetrics(this.set);
    this.set.set('lanehead_info', { ...info, engine: scope.engine }, 1);
    this.set.set('lanehead_processing_budget_rows', {}, maxProcessingRows);
    packs.onNew((pack, routes) => countFromZero(this.set, pack, routes));
  }

  watch(events: WorkEvents): void {
    new WorkMetrics(this.set, this.#options.packs, events);
  }

  /** From now on a scrape looks at these too. */
  scrapeFrom(sources: Omit<GaugeSources, 'packs'>): void {
    this.#gauges = new ScrapedGauges(this.set, { ...sources, packs: this.#options.packs });
  }

  /** In Prometheus' text format; what cannot be read in time is left out. */
  async scrape(): Promise<{ readonly contentType: string; readonly text: string }> {
    await this.#gauges?.refresh();
    setProcessMetrics(this.set, this.#options.meter);
    return { contentType: this.set.contentType, text: await this.set.text() };
  }

  /** Repeatable. */
  close(): void {
    this.#options.meter.close();
    this.set.close();
  }
}
