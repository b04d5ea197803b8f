import { createHmac } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { expect, onTestFinished } from 'vitest';
import { idMaker } from '../../src/core/ids.js';
import { systemClock, systemRandom } from '../../src/core/system.js';
import type { AdmissionDecision } from '../../src/ingress/decision.js';
import { routesOf } from '../../src/ingress/route-table.js';
import { createIngress, type Ingress, type IngressOptions } from '../../src/ingress/server.js';
import { definePack } from '../../src/packs/define-pack.js';
import { signatures } from '../../src/packs/signatures.js';
import type { Pack } from '../../src/packs/types.js';
import { openSqliteStore } from '../../src/store/dialects/sqlite/open.js';
import type { InstalledPack, Store } from '../../src/store/store.js';
import { BODY_LIMIT_BYTES, pushRoute, SECRET } from '../support/push-route.js';

export { BODY_LIMIT_BYTES, pushRoute, SECRET };

export const NAMESPACES = ['acme', 'globex'] as const;

export function sign(body: string | Uint8Array, secret = SECRET): string {
  return `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
}

export const testPack: Pack = definePack({
  name: 'code',
  version: '1.0.0',
  routes: {
    push: { ...pushRoute, maxBodyBytes: BODY_LIMIT_BYTES },
    acked: { ...pushRoute, ack: { status: 201, body: '<ok/>', contentType: 'text/xml' } },
    meta: { ...pushRoute, verify: signatures.meta({ secret: SECRET, verifyToken: 'a token' }) },
    slack: { ...pushRoute, verify: signatures.slack({ secret: SECRET }) },
  },
});

export interface Fixture {
  readonly ingress: Ingress;
  readonly url: string;
  /** The database file. */
  readonly path: string;
  readonly store: Store;
  readonly installed: readonly InstalledPack[];
  readonly decisions: AdmissionDecision[];
  /** Everything that was logged, as written. */
  readonly logged: () => string;
  readonly stored: () => Promise<{ receipts: number; events: number }>;
}

export interface FixtureOptions extends Partial<Omit<IngressOptions, 'store' | 'log'>> {
  readonly pack?: Pack;
  /** How long SQLite waits for another process's lock. */
  readonly busyTimeoutMs?: number;
  /** Wraps the real one, to make it fail or wait. */
  readonly materialize?: (real: Store['materialize']) => Store['materialize'];
}

/** For an ingress that is never asked to store anything. */
export function ingressOptions(): IngressOptions {
  return {
    store: { materialize: () => Promise.reject(new Error('not in this test')) },
    resolve: () => null,
    clock: systemClock,
    random: systemRandom(),
    newId: idMaker(systemClock, systemRandom()),
    log: pino({ level: 'silent' }),
    checks: {},
    onCommitted: () => {},
  };
}

/** A listening ingress over a real SQLite file; closed and removed when the test is over. */
export async function startIngress(options: FixtureOptions = {}): Promise<Fixture> {
  const { pack = testPack, busyTimeoutMs = 5_000, materialize, ...overrides } = options;
  const folder = await mkdtemp(join(tmpdir(), 'lanehead-ingress-'));
  const random = systemRandom();
  const path = join(folder, 'test.db');
  const store = openSqliteStore({ path, clock: systemClock, random, busyTimeoutMs });
  await store.migrate();
  const installed = await store.installPacks(
    NAMESPACES.map((namespace) => ({ namespace, pack: pack.name, version: pack.version })),
  );
  const lines: string[] = [];
  const decisions: AdmissionDecision[] = [];
  const real: Store['materialize'] = (request) => store.materialize(request);
  const ingress = createIngress({
    ...ingressOptions(),
    store: { materialize: materialize?.(real) ?? real },
    resolve: routesOf(installed.map((one) => ({ pack, installed: one }))),
    newId: idMaker(systemClock, random),
    log: pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) }),
    checks: { store: () => store.ping() },
    onDecision: (decision) => void decisions.push(decision),
    ...overrides,
  });
  const { url } = await ingress.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(async () => {
    await ingress.close({ timeoutMs: 0 });
    await store.close();
    await rm(folder, { recursive: true, force: true });
  });
  return {
    ingress,
    url,
    path,
    store,
    installed,
    decisions,
    logged: () => lines.join(''),
    stored: async () => ({
      receipts: (await store.listReceipts({ limit: 1_000 })).items.length,
      events: (await store.listEvents({ limit: 1_000 })).items.length,
    }),
  };
}

export interface Delivery {
  readonly path?: string;
  readonly key?: string;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly headers?: Readonly<Record<string, string>>;
}

export const PUSH = JSON.stringify({ repository: 'acme/site', message: 'Größe 💾' });

/** A signed delivery; `headers` replace and add. */
export function deliver(
  url: string,
  { path = '/in/acme/code/push', key = 'd-1', body = PUSH, headers }: Delivery = {},
) {
  return fetch(url + path, {
    method: 'POST',
    body,
    headers: { 'x-hub-signature-256': sign(body), 'x-github-delivery': key, ...headers },
  });
}

/** Head of a raw request to the push route, without the empty line. */
export function rawHead(...lines: readonly string[]): string {
  return ['POST /in/acme/code/push HTTP/1.1', 'Host: test', ...lines, ''].join('\r\n');
}

/** Waits for a condition as long as a test may take; on a busy machine no default of a second decides. */
export const eventually = <T>(read: () => T) => expect.poll(read, { timeout: 20_000, interval: 5 });

export function jsonOfLength(bytes: number): string {
  const frame = JSON.stringify({ repository: 'acme/site', fill: '' });
  return JSON.stringify({ repository: 'acme/site', fill: 'x'.repeat(bytes - frame.length) });
}

/** Without a Content-Length, in two chunks. */
export function deliverChunked(url: string, body: string): Promise<Response> {
  const bytes = new TextEncoder().encode(body);
  const half = Math.floor(bytes.length / 2);
  const stream = new ReadableStream({
    start(controller) {
      for (const part of [bytes.subarray(0, half), bytes.subarray(half)]) controller.enqueue(part);
      controller.close();
    },
  });
  return fetch(`${url}/in/acme/code/push`, {
    method: 'POST',
    body: stream,
    duplex: 'half',
    headers: { 'x-hub-signature-256': sign(body), 'x-github-delivery': 'd-1' },
  });
}
