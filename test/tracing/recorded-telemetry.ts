/** OpenTelemetry's own SDK, registered for one test, keeping what it was given. */
import { context, metrics, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { onTestFinished } from 'vitest';

export interface RecordedTelemetry {
  /** Ended spans, in the order of ending. */
  readonly spans: () => readonly ReadableSpan[];
  /** By name; the sum of counters, the number of what histograms recorded. */
  readonly measured: () => Promise<Readonly<Record<string, readonly Measured[]>>>;
}

export interface Measured {
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly count: number;
}

export function recordTelemetry(): RecordedTelemetry {
  const spanExporter = new InMemorySpanExporter();
  const tracing = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spanExporter)] });
  const metricExporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const metering = new MeterProvider({
    readers: [
      new PeriodicExportingMetricReader({ exporter: metricExporter, exportIntervalMillis: 3_600_000 }),
    ],
  });
  trace.setGlobalTracerProvider(tracing);
  metrics.setGlobalMeterProvider(metering);
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  onTestFinished(async () => {
    trace.disable();
    metrics.disable();
    context.disable();
    await Promise.all([tracing.shutdown(), metering.shutdown()]);
  });
  return {
    spans: () => spanExporter.getFinishedSpans(),
    async measured() {
      metricExporter.reset();
      await metering.forceFlush();
      const scopes = metricExporter.getMetrics().flatMap((resource) => resource.scopeMetrics);
      return Object.fromEntries(
        scopes
          .flatMap((scope) => scope.metrics)
          .map(({ descriptor, dataPoints }) => [
            descriptor.name,
            dataPoints.map(({ attributes, value }) => ({
              attributes,
              count: typeof value === 'number' ? value : (value as { count: number }).count,
            })),
          ]),
      );
    },
  };
}
