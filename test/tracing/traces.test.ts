import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import * as api from '@opentelemetry/api';
import { SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/core/system.js';
import { openTracing } from '../../src/tracing/open-telemetry.js';
import { serveSystem, temporaryDatabase } from '../metrics/served-system.js';
import { delivery, openSystem } from '../support/in-thread-system.js';
import { recordTelemetry } from './recorded-telemetry.js';

const SENDER = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };
const FROM_SENDER = {
  headers: { traceparent: `00-${SENDER.traceId}-${SENDER.spanId}-01`, tracestate: 'vendor=opaque' },
};
const MESSAGING = { 'messaging.system': 'lanehead', 'messaging.destination.name': 'code/push' };

const named = (spans: readonly ReadableSpan[], name: string): ReadableSpan[] =>
  spans.filter((span) => span.name === name);
const one = (spans: readonly ReadableSpan[], name: string): ReadableSpan => {
  const found = named(spans, name);
  expect(found, name).toHaveLength(1);
  return found[0]!;
};
const REQUEST = 'POST /in/{namespace}/code/push';

describe('a trace', () => {
  test('goes from the receipt through the queue to the durable outcome, and holds what the flow does', async () => {
    const telemetry = recordTelemetry();
    const system = await openSystem({
      route: { flow: () => trace.getTracer('flow').startSpan('call the provider').end() },
    });
    expect((await system.handle(delivery('marker-id', {}, FROM_SENDER))).status).toBe(202);
    await system.untilIdle();
    const spans = telemetry.spans();
    const request = one(spans, REQUEST);
    const send = one(spans, 'send code/push');
    const process = one(spans, 'process code/push');
    const settle = one(spans, 'settle code/push');
    const ofFlow = one(spans, 'call the provider');
    const parents = [send, process, settle, ofFlow].map((span) => span.parentSpanContext?.spanId);
    const ids = [request, send, process, process].map((span) => span.spanContext().spanId);
    expect(parents).toEqual(ids);
    expect(new Set(spans.map((span) => span.spanContext().traceId)).size).toBe(1);
    expect([request, send, process, settle].map((span) => span.kind)).toEqual([
      SpanKind.SERVER,
      SpanKind.PRODUCER,
      SpanKind.CONSUMER,
      SpanKind.CLIENT,
    ]);
    expect(process.links.map((link) => link.context.spanId)).toEqual([send.spanContext().spanId]);
    expect(request.attributes).toEqual({
      'http.request.method': 'POST',
      'http.route': '/in/{namespace}/code/push',
      'http.response.status_code': 202,
      'lanehead.namespace': 'acme',
      'lanehead.decision': 'accepted',
    });
    expect(send.attributes).toEqual({
      ...MESSAGING,
      'messaging.operation.name': 'send',
      'messaging.operation.type': 'send',
      'messaging.message.id': expect.stringMatching(/^rcp_/),
      'messaging.message.body.size': '{"source":"marker-id"}'.length,
      'messaging.batch.message_count': 1,
    });
    expect(process.attributes).toEqual({
      ...MESSAGING,
      'messaging.operation.name': 'process',
      'messaging.operation.type': 'process',
      'messaging.message.id': expect.stringMatching(/^evt_/),
      'lanehead.namespace': 'acme',
      'lanehead.queue_class': 'default',
      'lanehead.attempt': 1,
      'lanehead.outcome': 'completed',
    });
    const told = spans.map(({ name, attributes, status, events }) => ({ name, attributes, status, events }));
    expect(JSON.stringify(told)).not.toContain('marker');
  });

  test('links to what the sender says, and begins by itself', async () => {
    const telemetry = recordTelemetry();
    const system = await openSystem();
    await system.handle(delivery('a', {}, FROM_SENDER));
    await system.handle(delivery('b', {}, { headers: { traceparent: 'not a traceparent' } }));
    const [first, second] = named(telemetry.spans(), REQUEST);
    expect(first!.parentSpanContext).toBeUndefined();
    expect(first!.spanContext().traceId).not.toBe(SENDER.traceId);
    expect(first!.links.map(({ context }) => context)).toMatchObject([{ ...SENDER, isRemote: true }]);
    expect(second!.links).toEqual([]);
  });

  test('goes on with what the sender says where it is trusted, its state included', async () => {
    const telemetry = recordTelemetry();
    const system = await openSystem({ options: { trustTraceparent: true } });
    await system.handle(delivery('a', {}, FROM_SENDER));
    await system.untilIdle();
    const request = one(telemetry.spans(), REQUEST);
    expect(request.parentSpanContext).toMatchObject(SENDER);
    expect(request.links).toEqual([]);
    const process = one(telemetry.spans(), 'process code/push');
    expect(process.spanContext().traceId).toBe(SENDER.traceId);
    expect(process.spanContext().traceState?.serialize()).toBe('vendor=opaque');
  });

  test('has one run for each attempt, and says how each ended by a code', async () => {
    const telemetry = recordTelemetry();
    const system = await openSystem({
      route: {
        retry: { attempts: 2, baseMs: 1, maxMs: 1 },
        flow: () => {
          throw new Error('marker of the author');
        },
      },
    });
    await system.handle(delivery('a'));
    await expect
      .poll(() => named(telemetry.spans(), 'process code/push').length, { timeout: 20_000 })
      .toBe(2);
    const runs = named(telemetry.spans(), 'process code/push');
    expect(runs.map((span) => span.attributes['lanehead.attempt'])).toEqual([1, 2]);
    for (const { status, attributes } of runs) {
      expect(status).toEqual({ code: SpanStatusCode.ERROR });
      expect(attributes).toMatchObject({ 'error.type': 'flow_error', 'lanehead.outcome': 'failed' });
    }
    expect(new Set(runs.map((span) => span.spanContext().traceId)).size).toBe(1);
  });

  test('of a refused request ends with the refusal; a 503 is an error', async () => {
    const telemetry = recordTelemetry();
    const system = await openSystem({
      store: (real) => ({ ...real, materialize: () => Promise.reject(new Error('a bug')) }),
    });
    await system.handle(delivery('a', {}, { headers: { 'x-hub-signature-256': 'sha256=0' } }));
    expect((await system.handle(delivery('b'))).status).toBe(503);
    const [refused, failed] = named(telemetry.spans(), REQUEST);
    expect(refused!.attributes).toMatchObject({
      'http.response.status_code': 401,
      'lanehead.decision': 'invalid_signature',
    });
    expect(refused!.status).toEqual({ code: SpanStatusCode.UNSET });
    expect(failed!.status).toEqual({ code: SpanStatusCode.ERROR });
    expect(one(telemetry.spans(), 'send code/push').attributes['error.type']).toBe('failed');
  });

  test('survives the queue into another process', async () => {
    const telemetry = recordTelemetry();
    const databaseUrl = temporaryDatabase();
    const ingress = await serveSystem({ databaseUrl, role: 'ingress' });
    expect(await ingress.send({ id: 'a' })).toBe(202);
    await ingress.lanehead.stop();
    const worker = join(import.meta.dirname, 'worker-process.mjs');
    const { stdout } = await promisify(execFile)(process.execPath, [worker, databaseUrl]);
    const spans = JSON.parse(stdout) as {
      name: string;
      traceId: string;
      spanId: string;
      parentSpanId: string;
    }[];
    const send = one(telemetry.spans(), 'send code/push').spanContext();
    const run = spans.find(({ name }) => name === 'process code/push')!;
    expect(run).toMatchObject({ traceId: send.traceId, parentSpanId: send.spanId });
    const ofFlow = spans.find(({ name }) => name === 'call the provider')!;
    expect(ofFlow).toMatchObject({ traceId: send.traceId, parentSpanId: run.spanId });
  }, 120_000);
});

describe('the metrics of the messaging conventions', () => {
  test('count what was sent and consumed, and time the operations', async () => {
    const telemetry = recordTelemetry();
    const system = await openSystem();
    await system.handle(delivery('a'));
    await system.handle(delivery('b'));
    await system.untilIdle();
    const measured = await telemetry.measured();
    const of = (operation: string) => ({ ...MESSAGING, 'messaging.operation.name': operation });
    expect(measured['messaging.client.sent.messages']).toEqual([{ attributes: of('send'), count: 2 }]);
    expect(measured['messaging.client.consumed.messages']).toEqual([{ attributes: of('process'), count: 2 }]);
    expect(measured['messaging.process.duration']).toEqual([{ attributes: of('process'), count: 2 }]);
    expect(measured['messaging.client.operation.duration']).toEqual([
      { attributes: { ...of('send'), 'messaging.operation.type': 'send' }, count: 2 },
      { attributes: { ...of('settle'), 'messaging.operation.type': 'settle' }, count: 2 },
    ]);
  });
});

describe('nothing is traced', () => {
  const options = { clock: systemClock, version: '0.0.0', trustTraceparent: false };

  test('without a registered SDK', async () => {
    expect(await openTracing(options)).toBeNull();
  });

  test('without the package', async () => {
    const load = () =>
      Promise.reject(Object.assign(new Error('not found'), { code: 'ERR_MODULE_NOT_FOUND' }));
    recordTelemetry();
    expect(await openTracing({ ...options, load })).toBeNull();
    expect(await openTracing({ ...options, load: async () => api })).not.toBeNull();
  });
});
