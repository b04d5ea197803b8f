import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { LabelsOf } from './label-words.js';
import {
  type CounterName,
  type GaugeName,
  type HistogramName,
  METRICS,
  type Metric,
  type MetricName,
  type MetricScope,
  metricNames,
} from './metric-list.js';

/** The metrics of one running system, in a registry of its own: two systems in one process do not mix. */
export class MetricSet {
  readonly #registry = new Registry();
  readonly #metrics = new Map<MetricName, Counter | Gauge | Histogram>();

  constructor(scope: MetricScope) {
    for (const name of metricNames(scope)) this.#metrics.set(name, this.#make(name));
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  has(name: MetricName): boolean {
    return this.#metrics.has(name);
  }

  count<Name extends CounterName>(name: Name, labels: LabelsOf<Name>, by = 1): void {
    this.#get<Counter>(name)?.inc(labels, by);
  }

  /** For a counter that is kept elsewhere. */
  total(name: CounterName, value: number): void {
    const counter = this.#get<Counter>(name);
    counter?.reset();
    counter?.inc(value);
  }

  set<Name extends GaugeName>(name: Name, labels: LabelsOf<Name>, value: number): void {
    this.#get<Gauge>(name)?.set(labels, value);
  }

  /** What is not known any more is not told. */
  forget(name: GaugeName): void {
    this.#get<Gauge>(name)?.reset();
  }

  observe<Name extends HistogramName>(name: Name, labels: LabelsOf<Name>, value: number): void {
    this.#get<Histogram>(name)?.observe(labels, value);
  }

  /** In Prometheus' text format. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }

  close(): void {
    this.#registry.clear();
  }

  #get<Type extends Counter | Gauge | Histogram>(name: MetricName): Type | undefined {
    return this.#metrics.get(name) as Type | undefined;
  }

  #make(name: MetricName): Counter | Gauge | Histogram {
    const { type, labels, help, buckets }: Metric = METRICS[name];
    const common = { name, help, labelNames: [...labels], registers: [this.#registry] };
    if (type === 'counter') return new Counter(common);
    if (type === 'gauge') return new Gauge(common);
    return new Histogram({ ...common, ...(buckets && { buckets: [...buckets] }) });
  }
}
