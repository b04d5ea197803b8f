/**
 * Providers, one per source: each sends its deliveries in order, the next one only when the one before was answered
 * 2xx, and repeats one without an answer under the same delivery id. What they know is the acknowledgement ledger;
 * it lives here, outside of what is killed.
 */
import { createHmac } from 'node:crypto';
import type { Behaviour } from './crash-process.js';
import type { SentItem } from './history.js';

export interface SenderOptions {
  readonly sources: number;
  readonly secret: string;
  /** A number in [0, 1); a seeded one makes the load repeatable. */
  readonly random: () => number;
  /** What the flow of the next event is asked to do; without it nothing. */
  readonly behaviour?: (random: () => number) => Behaviour;
  /** False: the next delivery waits. */
  readonly mayGoOn?: () => boolean;
  /** Bytes that make the next delivery longer; without it none. */
  readonly padding?: () => number;
}

interface Answer {
  readonly receipt: string;
  readonly events: number;
  readonly conflict: boolean;
  readonly duplicate: boolean;
}

/** Share of deliveries that are sent again although they were answered. */
const REPEATED = 0.1;
const MAX_EVENTS = 3;
const REST_MS = 20;

class Delivery {
  readonly key: string;
  readonly body: string;
  readonly sequences: readonly number[];
  readonly receipts: string[] = [];

  constructor(source: string, number: number, sequences: readonly number[], options: SenderOptions) {
    this.key = `${source}-${number}`;
    this.sequences = sequences;
    const events = sequences.map((sequence) => ({
      source,
      sequence,
      behaviour: options.behaviour?.(options.random),
    }));
    const padding = 'x'.repeat(options.padding?.() ?? 0);
    this.body = JSON.stringify({ events, padding });
  }
}

export interface SenderCounts {
  requests: number;
  /** Answers 2xx; of those, how many told of a new receipt. */
  answers: number;
  accepted: number;
  /** Of the deliveries answered 2xx, each once. */
  events: number;
  /** Requests that never got an answer, for a whole life of the load. */
  cutOff: number;
  /** Of those, how many had been committed all the same: their repeat was a duplicate. */
  committedUnanswered: number;
  /** Answered deliveries that were sent again. */
  repeats: number;
  /** Answers 503, and by their reason. */
  refused: number;
  readonly reasons: Record<string, number>;
}

export class Senders {
  readonly counts: SenderCounts = {
    requests: 0,
    answers: 0,
    accepted: 0,
    events: 0,
    cutOff: 0,
    committedUnanswered: 0,
    repeats: 0,
    refused: 0,
    reasons: {},
  };
  readonly #options: SenderOptions;
  readonly #sources = new Map<string, Delivery[]>();
  readonly #running: Promise<unknown>;
  #server = new Switch<string>();
  #inFlight = 0;
  #finishing = false;
  #failure: Error | null = null;

  constructor(options: SenderOptions) {
    this.#options = options;
    const names = Array.from({ length: options.sources }, (_, place) => `source${place}`);
    this.#running = Promise.all(names.map((name) => this.#send(name)));
    this.#running.catch((error: Error) => {
      this.#failure = error;
    });
  }

  /** Requests that wait for their answer. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Why the load stopped by itself: an answer that no sender accepts. */
  get failure(): Error | null {
    return this.#failure;
  }

  /** Where to send from now on; `null`: nowhere, wait. */
  pointTo(url: string | null): void {
    this.#server.set(url);
  }

  /** No new deliveries; resolves when every one under way is answered. */
  async finish(): Promise<void> {
    this.#finishing = true;
    await this.#running;
  }

  sent(): SentItem[] {
    return [...this.#sources].flatMap(([lane, deliveries]) =>
      deliveries.flatMap(({ key, sequences, receipts }) =>
        sequences.map((sequence, ordinal) => ({ item: `${key}/${ordinal}`, lane, sequence, receipts })),
      ),
    );
  }

  async #send(source: string): Promise<void> {
    const deliveries: Delivery[] = [];
    this.#sources.set(source, deliveries);
    for (let sequence = 0; !this.#finishing && this.#failure === null; ) {
      const events = 1 + Math.floor(this.#options.random() * MAX_EVENTS);
      const sequences = Array.from({ length: events }, (_, place) => sequence + place);
      sequence += events;
      const delivery = new Delivery(source, deliveries.length, sequences, this.#options);
      deliveries.push(delivery);
      await this.#deliver(delivery);
      if (this.#options.random() < REPEATED) {
        this.counts.repeats++;
        await this.#deliver(deliveries[Math.floor(this.#options.random() * deliveries.length)]!);
      }
      while (!this.#finishing && this.#options.mayGoOn?.() === false) await rest();
    }
  }

  /** Until it is answered 2xx. */
  async #deliver(delivery: Delivery): Promise<void> {
    for (let unanswered = 0; this.#failure === null; ) {
      const url = await this.#server.value();
      const answer = await this.#request(url, delivery);
      if (typeof answer !== 'string') return this.#note(delivery, answer, unanswered);
      if (answer === 'cut off') unanswered++;
      await rest();
    }
  }

  #note(delivery: Delivery, answer: Answer, unanswered: number): void {
    const { key, receipts, sequences } = delivery;
    const known = receipts.length > 0;
    if (answer.events !== sequences.length || answer.conflict || (known && !answer.duplicate)) {
      throw new Error(`${key}, ${known ? 'known' : 'new'}, was answered ${JSON.stringify(answer)}`);
    }
    if (unanswered > 0 && !known && answer.duplicate) this.counts.committedUnanswered++;
    if (!known) this.counts.events += sequences.length;
    receipts.push(answer.receipt);
  }

  async #request(url: string, delivery: Delivery): Promise<Answer | 'cut off' | 'refused'> {
    this.counts.requests++;
    this.#inFlight++;
    let status: number;
    let text: string;
    try {
      const response = await postDelivery(url, delivery, this.#options.secret);
      status = response.status;
      text = await response.text();
    } catch {
      this.counts.cutOff++;
      return 'cut off';
    } finally {
      this.#inFlight--;
    }
    if (status === 503) return this.#refused(text);
    if (status !== 200 && status !== 202) throw new Error(`${delivery.key} was answered ${status}: ${text}`);
    this.counts.answers++;
    if (status === 202) this.counts.accepted++;
    return JSON.parse(text) as Answer;
  }

  #refused(text: string): 'refused' {
    const { reason } = JSON.parse(text) as { readonly reason: string };
    this.counts.refused++;
    this.counts.reasons[reason] = (this.counts.reasons[reason] ?? 0) + 1;
    return 'refused';
  }
}

/** One request, signed as the pack of the crash tests wants it. */
export function postDelivery(
  url: string,
  { key, body }: { readonly key: string; readonly body: string },
  secret: string,
): Promise<Response> {
  const signature = createHmac('sha256', secret).update(body).digest('hex');
  const headers = {
    'content-type': 'application/json',
    'x-github-delivery': key,
    'x-hub-signature-256': `sha256=${signature}`,
  };
  return fetch(`${url}/in/acme/crash/events`, { method: 'POST', body, headers });
}

const rest = () => new Promise((resolve) => setTimeout(resolve, REST_MS));

/** A value that may be missing for a while. */
class Switch<T> {
  #value: T | null = null;
  #waiting: ((value: T) => void)[] = [];

  set(value: T | null): void {
    this.#value = value;
    if (value === null) return;
    for (const resolve of this.#waiting.splice(0)) resolve(value);
  }

  value(): Promise<T> {
    if (this.#value !== null) return Promise.resolve(this.#value);
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}
