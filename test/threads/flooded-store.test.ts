import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { openThreadedSqliteStore } from '../../dist/threads/threaded-store.js';
import { systemClock } from '../../src/core/system.js';
import type { FromKeeper } from '../../src/executor/lease-protocol.js';
import type { InstalledPack, Store } from '../../src/store/store.js';
import { claimRequest } from '../conformance/fixture.js';
import { draftReceipt } from '../support/drafts.js';

const LEASE_MS = 6_000;
/** A third of the lease apart, so the last of them comes when the first lease is over. */
const RENEWALS = 4;
/** Commits that wait at any time. */
const DEPTH = 8;

async function open() {
  const folder = mkdtempSync(join(tmpdir(), 'lanehead-flood-'));
  const path = join(folder, 'store.db');
  const threaded = await openThreadedSqliteStore({ path, unsafeDurability: false });
  onTestFinished(async () => {
    await threaded.store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  await threaded.store.migrate();
  return threaded;
}

/** Commits that may be answered between a question and its answer: those on their way, and a few in turn with it. */
const PASSED = 4 * DEPTH;

/** Keeps commits of admission waiting at the store thread until it is told to stop. */
function flood(store: Store, pack: InstalledPack) {
  const { packId, namespace } = pack;
  let open = true;
  let answered = 0;
  const commit = async (): Promise<void> => {
    while (open) {
      const receipts = Array.from({ length: 16 }, () =>
        draftReceipt(pack, { events: [{ source: 'flood' }] }),
      );
      await store.materialize({ packId, namespace, receipts });
      answered++;
    }
  };
  const commits = Array.from({ length: DEPTH }, commit);
  return {
    async commitsDuring<T>(question: Promise<T>): Promise<readonly [T, number]> {
      const before = answered;
      return [await question, answered - before];
    },
    async stop() {
      open = false;
      await Promise.all(commits);
    },
  };
}

it('[OWN-5, TRM-2] behind a flood of commits leases are renewed, and outcomes and claims have their turn', async () => {
  const { store, leaseLink } = await open();
  const [pack] = (await store.installPacks([{ namespace: 'acme', pack: 'flooded', version: '1.0.0' }])) as [
    InstalledPack,
  ];
  const { packId, namespace } = pack;
  await store.materialize({ packId, namespace, receipts: [draftReceipt(pack)] });
  const sentAt = systemClock.monotonic();
  const { items } = await store.claim(claimRequest(pack, { leaseMs: LEASE_MS }));
  const { lease } = items[0]!;

  const flooding = flood(store, pack);
  onTestFinished(flooding.stop);
  const link = leaseLink();
  const heard: FromKeeper['kind'][] = [];
  link.receive(({ kind }) => void heard.push(kind));
  const beats = new SharedArrayBuffer(4);
  const beating = setInterval(() => Atomics.add(new Int32Array(beats), 0, 1), 100);
  onTestFinished(() => clearInterval(beating));
  link.send({ kind: 'open', leaseMs: LEASE_MS, beats });
  const tracked = { id: 1, lease, sentAt, renewUntil: sentAt + 100 * LEASE_MS };
  link.send({ kind: 'leases', at: systemClock.monotonic(), track: [tracked], untrack: [] });
  await expect.poll(() => heard.length, { timeout: 60_000 }).toBeGreaterThanOrEqual(RENEWALS);
  expect(new Set(heard)).toEqual(new Set(['renewed']));
  expect(systemClock.monotonic() - sentAt).toBeGreaterThan(LEASE_MS);

  const questions = [
    [() => store.reclaimStale(claimRequest(pack, { mode: 'stale' })), { items: [] }],
    [() => store.finalize([{ lease, outcome: { kind: 'completed' } }]), [{ lost: false }]],
    [() => store.claim(claimRequest(pack)), { items: [{ attempt: 1 }] }],
    [() => store.loadReceipt('nobody'), null],
  ] as const;
  for (const [ask, expected] of questions) {
    const [answer, commits] = await flooding.commitsDuring<unknown>(ask());
    if (expected === null) expect(answer).toBeNull();
    else expect(answer).toMatchObject(expected);
    expect(commits).toBeLessThanOrEqual(PASSED);
  }
}, 120_000);
