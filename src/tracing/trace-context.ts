import type * as OpenTelemetry from '@opentelemetry/api';

export type Api = typeof OpenTelemetry;

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const PRINTABLE = /^[\x20-\x7e]*$/;
/** The longest tracestate that everybody must pass on (W3C Trace Context, level 1, 3.3.1.5). */
const MAX_STATE_CHARACTERS = 512;

/** `traceparent`, and `tracestate` behind a space where there is one; `null`: there is no trace. */
export function formatContext(api: Api, context: OpenTelemetry.SpanContext): string | null {
  if (!api.isSpanContextValid(context)) return null;
  const { traceId, spanId, traceFlags } = context;
  const parent = `00-${traceId}-${spanId}-${(traceFlags & 0xff).toString(16).padStart(2, '0')}`;
  const state = context.traceState?.serialize() ?? '';
  const kept = state !== '' && state.length <= MAX_STATE_CHARACTERS && PRINTABLE.test(state);
  return kept ? `${parent} ${state}` : parent;
}

/** What `formatContext` wrote, or what a sender says in its headers; `null` when it is none. */
export function parseContext(api: Api, parent: string, state = ''): OpenTelemetry.SpanContext | null {
  const [, version, traceId = '', spanId = '', flags = '', more] = TRACEPARENT.exec(parent) ?? [];
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return null;
  const context = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  if (!api.isSpanContextValid(context)) return null;
  return state === '' ? context : { ...context, traceState: api.createTraceState(state) };
}

export function parseStored(api: Api, stored: string | null): OpenTelemetry.SpanContext | null {
  if (stored === null) return null;
  const [parent = '', ...state] = stored.split(' ');
  return parseContext(api, parent, state.join(' '));
}
