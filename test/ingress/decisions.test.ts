import { expect, test } from 'vitest';
import type { AdmissionDecision, ShedReason } from '../../src/ingress/decision.js';
import { definePack } from '../../src/packs/define-pack.js';
import { StoreOutage } from '../../src/store/store.js';
import { DecisionCounts } from '../support/decision-counts.js';
import { CommitGate } from './commit-gate.js';
import {
  deliver,
  eventually,
  type Fixture,
  type FixtureOptions,
  jsonOfLength,
  PUSH,
  pushRoute,
  rawHead,
  startIngress,
  testPack,
} from './ingress-fixture.js';
import { ManualClock } from './manual-clock.js';
import { RawConnection } from './raw-connection.js';

interface Case {
  readonly options?: FixtureOptions;
  /** Makes it happen. */
  readonly act: (fixture: Fixture) => Promise<unknown>;
  /** What else happens on the way. */
  readonly beside?: DecisionCounts['decisions'];
  readonly shed?: ShedReason;
}

const failing = (error: Error): FixtureOptions => ({ materialize: () => () => Promise.reject(error) });
const brokenPack = definePack({
  name: 'code',
  version: '1.0.0',
  routes: {
    push: {
      ...pushRoute,
      materialize: () => {
        throw new Error('a bug of this release');
      },
    },
  },
});
const challenge = (token: string): string =>
  `/in/acme/code/meta?hub.mode=subscribe&hub.verify_token=${encodeURIComponent(token)}&hub.challenge=x`;

async function sendRaw({ url }: Fixture, text: string, leave = false): Promise<void> {
  const connection = await RawConnection.open(url);
  connection.send(text);
  if (leave) connection.socket.end();
  await connection.response();
  connection.destroy();
}

/** The first delivery stays in the store; the decision is about what comes then. */
async function stuck(more: (fixture: Fixture) => Promise<unknown>, fixture: Fixture, gate: CommitGate) {
  const first = deliver(fixture.url, { key: 'd-0' });
  await gate.untilAsked(1);
  await more(fixture);
  gate.open();
  await first;
}

function overloadedCase(): Case {
  const gate = new CommitGate();
  return {
    options: { inFlight: { requests: 1, bytes: 1_000_000 }, materialize: gate.wrap },
    act: (fixture) => stuck(({ url }) => deliver(url), fixture, gate),
    beside: { accepted: 1 },
    shed: 'requests',
  };
}

function deadlineCase(): Case {
  const gate = new CommitGate();
  const clock = new ManualClock();
  return {
    options: { clock, materialize: gate.wrap, groupCommit: { deadlineMs: 5_000 } },
    act: async ({ url }) => {
      const first = deliver(url);
      await gate.untilAsked(1);
      clock.advance(5_000);
      await first;
      gate.open();
    },
  };
}

const withStatus =
  (status: 'paused' | 'retired') =>
  async ({ store, installed, url }: Fixture) => {
    await store.setPackStatus(installed[0]!.packId, status);
    await deliver(url);
  };

/** One for each decision there is: the compiler misses a new one. */
const CASES: Readonly<Record<AdmissionDecision, Case>> = {
  accepted: { act: ({ url }) => deliver(url) },
  duplicate: {
    act: async ({ url }) => {
      await deliver(url);
      await deliver(url);
    },
    beside: { accepted: 1 },
  },
  conflict: {
    act: async ({ url }) => {
      await deliver(url);
      await deliver(url, { body: JSON.stringify({ repository: 'acme/site' }) });
    },
    beside: { accepted: 1 },
  },
  quarantined: { options: { pack: brokenPack }, act: ({ url }) => deliver(url) },
  handshake: { act: ({ url }) => fetch(url + challenge('a token')) },
  handshake_refused: { act: ({ url }) => fetch(url + challenge('another')) },
  truncated: {
    act: (fixture) => sendRaw(fixture, `${rawHead('Content-Length: 100')}\r\nabc`, true),
  },
  bad_request: { act: (fixture) => sendRaw(fixture, 'no request at all\r\n\r\n') },
  request_timeout: {
    options: { http: { headersTimeoutMs: 50, requestTimeoutMs: 100, timeoutCheckMs: 20 } },
    act: (fixture) => sendRaw(fixture, rawHead()),
  },
  headers_too_large: {
    act: (fixture) => sendRaw(fixture, `${rawHead(`X-Long: ${'x'.repeat(20_000)}`)}\r\n`),
  },
  invalid_signature: { act: ({ url }) => deliver(url, { headers: { 'x-hub-signature-256': '' } }) },
  unknown_route: { act: ({ url }) => deliver(url, { path: '/in/acme/code/other' }) },
  method_not_allowed: { act: ({ url }) => fetch(`${url}/in/acme/code/push`, { method: 'PUT' }) },
  pack_retired: { act: withStatus('retired') },
  paused: { act: withStatus('paused') },
  payload_too_large: { act: ({ url }) => deliver(url, { body: jsonOfLength(30_000) }) },
  body_fragmented: {
    act: (fixture) =>
      sendRaw(fixture, `${rawHead('Transfer-Encoding: chunked')}\r\n${'1\r\na\r\n'.repeat(4_200)}`),
  },
  unsupported_encoding: { act: ({ url }) => deliver(url, { headers: { 'content-encoding': 'gzip' } }) },
  internal: { options: failing(new TypeError('nobody foresaw it')), act: ({ url }) => deliver(url) },
  store_unavailable: {
    options: failing(new StoreOutage('it is away', 'none')),
    act: ({ url }) => deliver(url),
  },
  commit_deadline: deadlineCase(),
  overloaded: overloadedCase(),
  draining: {
    act: ({ ingress, url }) => {
      ingress.beginDrain();
      return deliver(url);
    },
  },
};

for (const [decision, { options, act, beside = {}, shed }] of Object.entries(CASES)) {
  test(`[ADM-5, MET-1] ${decision} is counted once, under its name and no other`, async () => {
    const counts = new DecisionCounts();
    const fixture = await startIngress({
      pack: testPack,
      ...options,
      onDecision: counts.observe,
    });
    await act(fixture);
    const expected = { ...beside, [decision]: 1 };
    await eventually(() => counts.decisions).toEqual(expected);
    expect(counts.shed).toEqual(shed === undefined ? {} : { [shed]: 1 });
  });
}

test('[ADM-5] probes are no admission and count nowhere; what a sender wrote names no counter', async () => {
  const counts = new DecisionCounts();
  const { url } = await startIngress({ onDecision: counts.observe });
  await fetch(`${url}/livez`);
  await fetch(`${url}/readyz`);
  expect(counts).toMatchObject({ decisions: {}, shed: {} });
  for (const path of ['/in/a/b/c', '/in/acme/code/__proto__', '/in/acme/code/accepted']) {
    await deliver(url, { path, body: PUSH, headers: { 'x-github-event': path } });
  }
  expect(counts.decisions).toEqual({ unknown_route: 3 });
  expect(counts.shed).toEqual({});
});
