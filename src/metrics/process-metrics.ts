import type { ProcessGauge, ProcessMeter } from '../core/process-meter.js';
import type { MetricSet } from './metric-set.js';

/**
 * The process under the names of prom-client's own default metrics. Those are not used themselves: once begun, their
 * watch over the event loop and the garbage collector never ends, and every start would leave another one behind.
 */
export function setProcessMetrics(metrics: MetricSet, meter: ProcessMeter): void {
  const gauge: ProcessGauge = meter.read();
  metrics.total('process_cpu_seconds_total', gauge.cpuSeconds);
  metrics.set('process_start_time_seconds', {}, gauge.startedAtSeconds);
  metrics.set('process_resident_memory_bytes', {}, gauge.residentBytes);
  metrics.set('nodejs_heap_size_used_bytes', {}, gauge.heapUsedBytes);
  metrics.set('nodejs_heap_size_total_bytes', {}, gauge.heapTotalBytes);
  metrics.set('nodejs_external_memory_bytes', {}, gauge.externalBytes);
  metrics.set('nodejs_eventloop_lag_mean_seconds', {}, gauge.lagMeanSeconds);
  metrics.set('nodejs_eventloop_lag_p99_seconds', {}, gauge.lagP99Seconds);
  metrics.set('nodejs_eventloop_lag_max_seconds', {}, gauge.lagMaxSeconds);
}
