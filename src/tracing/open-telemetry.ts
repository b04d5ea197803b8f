/**
 * Traces and metrics through OpenTelemetry's API, by its conventions for messaging and HTTP:
 *
 *   SERVER `POST /in/{namespace}/pack/route` ─▶ PRODUCER `send pack/route` ┄stored┄▶ CONSUMER `process pack/route` ─▶ CLIENT `settle pack/route`
 *
 * The run continues the trace of its receipt and links to it as well, in whatever process it happens. What a sender
 * says in `traceparent` is linked: whoever knows the URL could write it, and would decide what is sampled. The API is a
 * peer that may be missing; its SDK must be registered before the start.
 */
import type { Attributes, Context, Link, Span, SpanContext, Tracer } from '@opentelemetry/api';
import type { Clock } from '../core/clock.js';
import type { RequestTrace, RunTrace, TracedRoute, TracedRun, TraceSpan, Tracing } from '../core/tracing.js';
import { MessagingMetrics } from './messaging-metrics.js';
import { type Api, formatContext, parseContext, parseStored } from './trace-context.js';

export interface TracingOptions {
  readonly clock: Clock;
  readonly version: string;
  /** The sender's `traceparent` is the parent of its requests. */
  readonly trustTraceparent: boolean;
  /** Default: the peer dependency. Rejects where it is not installed. */
  readonly load?: () => Promise<Api>;
}

const NAME = 'lanehead';

/** `null`: the API is not installed, or nothing that would record has been registered with it. */
export async function openTracing(options: TracingOptions): Promise<Tracing | null> {
  const { load = () => import('@opentelemetry/api') } = options;
  let api: Api;
  try {
    api = await load();
  } catch {
    return null;
  }
  return isListening(api) ? new OpenTelemetryTracing(api, options) : null;
}

function isListening(api: Api): boolean {
  const traces = api.trace.getTracerProvider();
  const isTraced =
    !(traces instanceof api.ProxyTracerProvider) || traces.getDelegateTracer(NAME) !== undefined;
  return isTraced || api.metrics.getMeter(NAME) !== api.createNoopMeter();
}

/** Methods that may name a span (OpenTelemetry's conventions for HTTP). */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH']);

class OpenTelemetryTracing implements Tracing {
  readonly #api: Api;
  readonly #tracer: Tracer;
  readonly #metrics: MessagingMetrics;
  readonly #options: TracingOptions;

  constructor(api: Api, options: TracingOptions) {
    this.#api = api;
    this.#options = options;
    this.#tracer = api.trace.getTracer(NAME, options.version);
    this.#metrics = new MessagingMetrics(api.metrics.getMeter(NAME, options.version));
  }

  request(route: TracedRoute, method: string, header: (name: string) => string | undefined): RequestTrace {
    const api = this.#api;
    const sender = parseContext(api, header('traceparent') ?? '', header('tracestate'));
    const { parent, links } = this.#around(sender);
    const path = `/in/{namespace}/${route.pack}/${route.route}`;
    const known = METHODS.has(method) ? method : '_OTHER';
    const attributes = {
      'http.request.method': known,
      'http.route': path,
      'lanehead.namespace': route.namespace,
    };
    const name = `${known === '_OTHER' ? 'HTTP' : known} ${path}`;
    const span = this.#tracer.startSpan(name, { kind: api.SpanKind.SERVER, attributes, links }, parent);
    const within = api.trace.setSpan(parent, span);
    return {
      send: (receipt) => this.#send(route, receipt, within),
      end: (decision, status) => {
        span.setAttributes({ 'http.response.status_code': status, 'lanehead.decision': decision });
        endSpan(api, span, status >= 500 ? decision : null);
      },
    };
  }

  run(run: TracedRun): RunTrace {
    const api = this.#api;
    const { clock } = this.#options;
    const receipt = parseStored(api, run.traceContext);
    const root = api.ROOT_CONTEXT;
    // Never the ambient context: a scan is often begun by what happens to wake it.
    const parent = receipt === null ? root : api.trace.setSpanContext(root, receipt);
    const attributes = {
      ...messaging(run, 'process'),
      'messaging.operation.type': 'process',
      'messaging.message.id': run.eventId,
      'lanehead.namespace': run.namespace,
      'lanehead.queue_class': run.queueClass,
      'lanehead.attempt': run.attempt,
    };
    const startTime = clock.now() - run.elapsedMs;
    const links = linksTo(receipt);
    const kind = api.SpanKind.CONSUMER;
    const begun = clock.monotonic() - run.elapsedMs;
    const span = this.#tracer.startSpan(
      named('process', run),
      { kind, attributes, links, startTime },
      parent,
    );
    const within = api.trace.setSpan(root, span);
    return {
      within: (call) => api.context.with(within, call),
      settle: () => this.#settle(run, within),
      end: (outcome, error) => {
        span.setAttribute('lanehead.outcome', outcome);
        endSpan(api, span, error);
        this.#metrics.processed(clock.monotonic() - begun, withError(messaging(run, 'process'), error));
      },
    };
  }

  /** The context a request's span begins in, and what it links to. */
  #around(sender: SpanContext | null): { readonly parent: Context; readonly links: Link[] } {
    const active = this.#api.context.active();
    if (sender === null || !this.#options.trustTraceparent) return { parent: active, links: linksTo(sender) };
    return { parent: this.#api.trace.setSpanContext(active, sender), links: [] };
  }

  #send(route: TracedRoute, receipt: Parameters<RequestTrace['send']>[0], parent: Context) {
    const api = this.#api;
    const { clock } = this.#options;
    const begun = clock.monotonic();
    const attributes = {
      ...messaging(route, 'send'),
      'messaging.operation.type': 'send',
      'messaging.message.id': receipt.receiptId,
      'messaging.message.body.size': receipt.bodyBytes,
      'messaging.batch.message_count': receipt.events,
    };
    const kind = api.SpanKind.PRODUCER;
    const span = this.#tracer.startSpan(named('send', route), { kind, attributes }, parent);
    return {
      traceContext: formatContext(api, span.spanContext()),
      end: (error: string | null) => {
        endSpan(api, span, error);
        const counted = withError(messaging(route, 'send'), error);
        this.#metrics.sent(receipt.events, clock.monotonic() - begun, counted);
      },
    };
  }

  #settle(run: TracedRun, parent: Context): TraceSpan {
    const api = this.#api;
    const { clock } = this.#options;
    const begun = clock.monotonic();
    const attributes = {
      ...messaging(run, 'settle'),
      'messaging.operation.type': 'settle',
      'messaging.message.id': run.eventId,
    };
    const kind = api.SpanKind.CLIENT;
    const span = this.#tracer.startSpan(named('settle', run), { kind, attributes }, parent);
    return {
      end: (error) => {
        endSpan(api, span, error);
        this.#metrics.settled(clock.monotonic() - begun, withError(messaging(run, 'settle'), error));
      },
    };
  }
}

const destination = ({ pack, route }: TracedRoute): string => `${pack}/${route}`;
const named = (operation: string, route: TracedRoute): string => `${operation} ${destination(route)}`;

function messaging(route: TracedRoute, operation: string): Attributes {
  return {
    'messaging.system': NAME,
    'messaging.destination.name': destination(route),
    'messaging.operation.name': operation,
  };
}

const withError = (attributes: Attributes, error: string | null): Attributes =>
  error === null ? attributes : { ...attributes, 'error.type': error };

const linksTo = (context: SpanContext | null): Link[] => (context === null ? [] : [{ context }]);

/** Codes alone: what an author's error says may hold what came in. */
function endSpan(api: Api, span: Span, error: string | null): void {
  if (error !== null) {
    span.setAttribute('error.type', error);
    span.setStatus({ code: api.SpanStatusCode.ERROR });
  }
  span.end();
}
