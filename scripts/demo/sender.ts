import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { sign } from '@octokit/webhooks-methods';
import { bySource, type Delivery } from './deliveries.js';
import type { OrderLedger } from './order-ledger.js';

export interface SenderOptions {
  readonly url: string;
  readonly secret: string;
  readonly connections: number;
  readonly ledger: OrderLedger;
}

export interface Sent {
  readonly sent: number;
  readonly accepted: number;
  readonly duplicates: number;
  /** Events that the answers speak of, those of duplicates not counted again. */
  readonly events: number;
}

/** After this many deliveries of a source an earlier one is sent again, as providers do. */
const REPEAT_EVERY = 5;
const REPEAT_BACK = 2;

/**
 * Sends everything over a few connections. The next delivery of a source waits for the answer to the one before, so
 * that the order of sending is a fact; sources do not wait for each other.
 * @throws Error for any answer but 202 and 200
 */
export async function sendAll(deliveries: readonly Delivery[], options: SenderOptions): Promise<Sent> {
  const agents = Array.from(
    { length: options.connections },
    () => new Agent({ keepAlive: true, maxSockets: 1 }),
  );
  const totals = { sent: 0, accepted: 0, duplicates: 0, events: 0 };
  const send = async (agent: Agent, delivery: Delivery): Promise<void> => {
    totals.sent++;
    const answer = await post(agent, delivery, options);
    if (answer.duplicate) totals.duplicates++;
    else {
      totals.accepted++;
      totals.events += answer.events;
    }
  };
  const sources = [...bySource(deliveries).values()].map(async (list, place) => {
    const agent = agents[place % agents.length]!;
    for (const [index, delivery] of list.entries()) {
      options.ledger.sent(delivery.source, delivery.id);
      await send(agent, delivery);
      if (index % REPEAT_EVERY === REPEAT_EVERY - 1) await send(agent, list[index - REPEAT_BACK]!);
    }
  });
  try {
    await Promise.all(sources);
    return totals;
  } finally {
    for (const agent of agents) agent.destroy();
  }
}

interface Answer {
  readonly events: number;
  readonly duplicate: boolean;
}

async function post(agent: Agent, delivery: Delivery, { url, secret }: SenderOptions): Promise<Answer> {
  const sending = request(url, {
    method: 'POST',
    agent,
    headers: {
      'content-type': 'application/json',
      'x-github-event': delivery.event,
      'x-github-delivery': delivery.id,
      'x-hub-signature-256': await sign(secret, delivery.body),
    },
  });
  sending.end(delivery.body);
  const [response] = (await once(sending, 'response')) as [IncomingMessage];
  const text = (await response.setEncoding('utf8').toArray()).join('');
  if (response.statusCode !== 202 && response.statusCode !== 200) {
    throw new Error(`delivery ${delivery.id} was answered ${response.statusCode}: ${text}`);
  }
  return JSON.parse(text) as Answer;
}
