import type { Attributes, Counter, Histogram, Meter } from '@opentelemetry/api';

/** The boundaries that the conventions ask for. */
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

/** The client metrics of OpenTelemetry's messaging conventions; the queue is the broker. */
export class MessagingMetrics {
  readonly #sent: Counter;
  readonly #consumed: Counter;
  readonly #operation: Histogram;
  readonly #process: Histogram;

  constructor(meter: Meter) {
    const inSeconds = { unit: 's', advice: { explicitBucketBoundaries: SECONDS } };
    this.#sent = meter.createCounter('messaging.client.sent.messages', {
      unit: '{message}',
      description: 'Events that were sent to the queue.',
    });
    this.#consumed = meter.createCounter('messaging.client.consumed.messages', {
      unit: '{message}',
      description: 'Events that were given to a flow.',
    });
    this.#operation = meter.createHistogram('messaging.client.operation.duration', {
      ...inSeconds,
      description: 'Time of one operation on the queue.',
    });
    this.#process = meter.createHistogram('messaging.process.duration', {
      ...inSeconds,
      description: 'Time of one run, from taking it up to its outcome.',
    });
  }

  sent(events: number, elapsedMs: number, attributes: Attributes): void {
    this.#sent.add(events, attributes);
    this.#operation.record(elapsedMs / 1_000, { ...attributes, 'messaging.operation.type': 'send' });
  }

  settled(elapsedMs: number, attributes: Attributes): void {
    this.#operation.record(elapsedMs / 1_000, { ...attributes, 'messaging.operation.type': 'settle' });
  }

  processed(elapsedMs: number, attributes: Attributes): void {
    this.#consumed.add(1, attributes);
    this.#process.record(elapsedMs / 1_000, attributes);
  }
}
