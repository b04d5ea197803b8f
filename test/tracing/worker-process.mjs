/** A worker of its own: drains one database with the SDK registered, and prints the spans it has ended as JSON. */
import { context, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { createLanehead, definePack, signatures } from '../../dist/index.js';

const exporter = new InMemorySpanExporter();
trace.setGlobalTracerProvider(
  new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }),
);
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());

const lanehead = createLanehead({
  packs: [
    definePack({
      name: 'code',
      version: '1.2.3',
      routes: {
        push: {
          version: 1,
          verify: signatures.github({ secret: 'a secret' }),
          materialize: () => ({ deliveries: [] }),
          flow: () => trace.getTracer('flow').startSpan('call the provider').end(),
        },
      },
    }),
  ],
  databaseUrl: process.argv[2],
  namespaces: ['acme', 'globex'],
  role: 'worker',
});
await lanehead.start();
await lanehead.drainUntilIdle();
await lanehead.stop();
const spans = exporter.getFinishedSpans().map((span) => {
  const { traceId, spanId } = span.spanContext();
  return { name: span.name, traceId, spanId, parentSpanId: span.parentSpanContext?.spanId ?? null };
});
console.log(JSON.stringify(spans));
