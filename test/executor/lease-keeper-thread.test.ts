import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MessageChannel, Worker } from 'node:worker_threads';
import { afterEach, describe, expect, test } from 'vitest';
import type { Clock } from '../../src/core/clock.js';
import { systemClock, systemNextTurn, systemRandom } from '../../src/core/system.js';
import { LeaseHandle } from '../../src/executor/lease-handle.js';
import { hostLeaseKeeper } from '../../src/executor/lease-keeper-thread.js';
import { type MainLink, portLink } from '../../src/executor/lease-protocol.js';
import { openSqliteStore } from '../../src/store/dialects/sqlite/open.js';
import { claimRequest } from '../conformance/fixture.js';
import { draftReceipt } from '../support/drafts.js';
import type { KeeperThreadData } from '../support/keeper-thread.js';
import { until } from '../support/manual-clock.js';
import { LEASE_MS, useBench, type WorkBench } from '../support/work-bench.js';

const openBench = useBench();
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** The same time, counted from elsewhere, as another thread counts it. */
function fromOtherOrigin(clock: Clock, originMs: number): Clock {
  return { ...wrap(clock), monotonic: () => clock.monotonic() + originMs };
}
const wrap = (clock: Clock): Clock => ({
  now: () => clock.now(),
  monotonic: () => clock.monotonic(),
  after: (delayMs, fire) => clock.after(delayMs, fire),
  sleep: (delayMs, signal) => clock.sleep(delayMs, signal),
});

async function handled(count: number) {
  const bench = await openBench();
  await bench.admitSources(count);
  const { items } = await bench.store.claim(claimRequest(bench.installed, { leaseMs: LEASE_MS }));
  const { port1, port2 } = new MessageChannel();
  closing.push(() => port1.close());
  hostLeaseKeeper(portLink(port2), bench.store, fromOtherOrigin(bench.clock, 1_000_000));
  const link: MainLink = portLink(port1);
  const handle = new LeaseHandle({ link, clock: bench.clock, nextTurn: systemNextTurn, leaseMs: LEASE_MS });
  return { bench, handle, leases: items.map((item) => item.lease) };
}

const limits = (bench: WorkBench) => ({
  sentAt: bench.clock.monotonic(),
  renewUntil: Number.POSITIVE_INFINITY,
});
const SAFE_MS = (LEASE_MS * 5) / 6;

describe('a keeper over a port', () => {
  test('[OWN-5] moves the safe end of a lease to what was sent, in the time of the main thread', async () => {
    const { bench, handle, leases } = await handled(2);
    const held = handle.track(leases, limits(bench));
    expect(held.map((lease) => lease.safeUntil)).toEqual([SAFE_MS, SAFE_MS]);
    await until(() => bench.clock.pending === 2, 'beats and checks are under way');
    await bench.clock.advance(LEASE_MS / 3);
    await until(() => held[0]!.safeUntil !== SAFE_MS, 'the renewal is heard of');
    expect(held.map((lease) => lease.safeUntil)).toEqual([SAFE_MS + LEASE_MS / 3, SAFE_MS + LEASE_MS / 3]);
  });

  test('[OWN-5] a message that took long makes a lease look shorter, never longer', async () => {
    const { bench, handle, leases } = await handled(1);
    const sent = limits(bench);
    const [held] = handle.track(leases, sent);
    // The message lies in the port while time passes: the keeper sees a larger difference between the clocks.
    bench.clock.jump(500);
    await until(() => bench.clock.pending === 2, 'the keeper has it');
    await bench.clock.advance(LEASE_MS / 3);
    await until(() => held!.safeUntil !== SAFE_MS, 'the renewal is heard of');
    expect(held!.safeUntil).toBeLessThanOrEqual(bench.clock.monotonic() + SAFE_MS - 500);
  });

  test('[OWN-5] tells the holder that a lease is gone', async () => {
    const { bench, handle, leases } = await handled(2);
    const held = handle.track(leases, limits(bench));
    const told: string[] = [];
    for (const lease of held) lease.onLost = () => told.push(lease.lease.workId);
    await until(() => bench.clock.pending === 2, 'the keeper has them');
    bench.sql("UPDATE _System_ConnectorWorkItem SET LeaseToken = 'x' WHERE WorkId = ?", leases[1]!.workId);
    await bench.clock.advance(LEASE_MS / 3);
    await until(() => told.length > 0, 'the loss is heard of');
    expect(told).toEqual([leases[1]!.workId]);
    expect(held[1]!.safeUntil).toBe(Number.NEGATIVE_INFINITY);
  });

  test('leases that end in one turn are untracked with one message, and nothing is left after close', async () => {
    const { bench, handle, leases } = await handled(3);
    for (const lease of handle.track(leases, limits(bench))) handle.untrack(lease);
    expect(handle.size).toBe(0);
    await handle.close();
    await handle.close();
    await bench.clock.advance(2 * LEASE_MS);
    expect(bench.steered.count('renew')).toBe(0);
    expect(bench.clock.pending).toBe(0);
  });
});

/** Words of the thread's signals. */
const SERVING = 0;
const RENEWALS = 1;
const PATIENCE_MS = 60_000;

describe('a keeper in a thread of its own', () => {
  test(
    '[TRM-4] renews while the main thread stands still, waiting for just that',
    async () => {
      const leaseMs = 12_000;
      const folder = mkdtempSync(join(tmpdir(), 'lanehead-keeper-'));
      const path = join(folder, 'store.db');
      const store = openSqliteStore({ path, clock: systemClock, random: systemRandom() });
      closing.push(
        () => store.close(),
        () => rmSync(folder, { recursive: true }),
      );
      await store.migrate();
      const [installed] = await store.installPacks([{ namespace: 'acme', pack: 'bench', version: '1.0.0' }]);
      const receipts = [draftReceipt(installed!)];
      await store.materialize({ packId: installed!.packId, namespace: 'acme', receipts });

      const signals = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT);
      const workerData: KeeperThreadData = { path, signals };
      const worker = new Worker(new URL('../support/keeper-thread.ts', import.meta.url), {
        workerData,
        execArgv: ['--import', 'jiti/register'],
      });
      closing.unshift(() => worker.terminate());
      const raised = (word: number) =>
        Atomics.wait(new Int32Array(signals), word, 0, PATIENCE_MS) !== 'timed-out';
      expect(raised(SERVING)).toBe(true);

      const link: MainLink = portLink(worker);
      const handle = new LeaseHandle({ link, clock: systemClock, nextTurn: systemNextTurn, leaseMs });
      // A claim whose answer took so long that its renewal is due at the first check.
      const sentAt = systemClock.monotonic() - leaseMs / 3;
      const { items } = await store.claim(claimRequest(installed!, { leaseMs }));
      const [held] = handle.track([items[0]!.lease], { sentAt, renewUntil: Number.POSITIVE_INFINITY });
      const safeUntil = held!.safeUntil;
      // From here the event loop stands, and only a renewal by somebody else sets it free.
      expect(raised(RENEWALS)).toBe(true);
      await expect.poll(() => held!.safeUntil, { timeout: PATIENCE_MS }).toBeGreaterThan(safeUntil);
      await handle.close();
    },
    2 * PATIENCE_MS,
  );
});
