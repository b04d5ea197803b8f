/** A whole system with both listeners, over the built product, and senders that sign what they send. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sign } from '@octokit/webhooks-methods';
import { expect, onTestFinished } from 'vitest';
import {
  createLanehead,
  definePack,
  type Lanehead,
  type LaneheadOptions,
  signatures,
} from '../../dist/index.js';
import { type Exposition, parseExposition } from '../support/exposition.js';

export const SECRET = 'marker-of-the-secret';

export interface Served {
  readonly lanehead: Lanehead;
  readonly url: string;
  readonly adminUrl: string;
  send(delivery: Delivery): Promise<number>;
  scrape(): Promise<Exposition>;
}

export interface Delivery {
  readonly id: string;
  /** What its flow does. Default: nothing. */
  readonly does?: 'fail' | 'retry' | 'skip' | 'dead' | 'read';
  readonly source?: string;
  readonly secret?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly extra?: string;
}

/** A pack whose flows do what the body says. */
export const steeredPack = definePack({
  name: 'code',
  version: '1.2.3',
  routes: {
    push: {
      version: 1,
      verify: signatures.github({ secret: SECRET }),
      retry: { attempts: 2, baseMs: 1, maxMs: 1 },
      materialize: (receipt) => {
        const { source } = receipt.json() as { source: string };
        const key = receipt.header('x-github-delivery');
        return { deliveries: [{ key, events: [{ type: 'push', sourceKey: source }] }] };
      },
      batchRead: () => 'read',
      flow: (event, ctx) => {
        const { does } = event.json() as { does?: string };
        if (does === 'skip') ctx.skip('nothing to do');
        if (does === 'dead') ctx.dead('no such account');
        if (does === 'fail') throw new Error('the provider said no');
        if (does === 'retry' && ctx.attempt === 1) ctx.retryAfter(1);
      },
    },
  },
});

export function temporaryDatabase(): string {
  const folder = mkdtempSync(join(tmpdir(), 'lanehead-signals-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return `sqlite:${join(folder, 'store.db')}`;
}

/** Stopped when the test is over. */
export async function serveSystem(changes: Partial<LaneheadOptions> = {}): Promise<Served> {
  const lanehead = createLanehead({
    packs: [steeredPack],
    databaseUrl: changes.databaseUrl ?? temporaryDatabase(),
    namespaces: ['acme', 'globex'],
    listen: { port: 0 },
    admin: { port: 0 },
    ...changes,
  });
  onTestFinished(() => lanehead.stop({ timeoutMs: 0 }));
  const { url, adminUrl } = await lanehead.start();
  return {
    lanehead,
    url: url!,
    adminUrl: adminUrl!,
    send: (delivery) => send(url!, delivery),
    async scrape() {
      const response = await fetch(`${adminUrl}/metrics`);
      expect(response.status).toBe(200);
      expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
      return parseExposition(await response.text());
    },
  };
}

async function send(url: string, delivery: Delivery): Promise<number> {
  const { id, does, source = id, secret = SECRET, path = '/in/acme/code/push', headers, extra } = delivery;
  const body = JSON.stringify({ source, does, extra });
  const response = await fetch(url + path, {
    method: 'POST',
    body,
    headers: {
      'content-type': 'application/json',
      'x-github-delivery': id,
      'x-hub-signature-256': await sign(secret, body),
      ...headers,
    },
  });
  await response.arrayBuffer();
  return response.status;
}
