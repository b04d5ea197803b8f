import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { openLeaseThread } from '../../dist/threads/lease-link.js';
import { systemClock } from '../../src/core/system.js';
import type { FromKeeper } from '../../src/executor/lease-protocol.js';
import type { InstalledPack } from '../../src/store/store.js';
import type { OpenedStore } from '../conformance/engine.js';
import { claimRequest } from '../conformance/fixture.js';
import { draftReceipt } from '../support/drafts.js';
import { createDatabase, type TestDatabase } from '../support/mariadb.js';
import { mysqlEngineOn } from '../support/mysql-engine.js';

/** Messages of a link, one by one. */
function inbox() {
  const waiting: ((message: FromKeeper) => void)[] = [];
  const arrived: FromKeeper[] = [];
  return {
    hear: (message: FromKeeper) => {
      const next = waiting.shift();
      if (next === undefined) arrived.push(message);
      else next(message);
    },
    next: () =>
      new Promise<FromKeeper>((resolve) => {
        const message = arrived.shift();
        if (message === undefined) waiting.push(resolve);
        else resolve(message);
      }),
  };
}

describe('the lease thread on MySQL', () => {
  let database: TestDatabase;
  let at: OpenedStore;
  beforeAll(async () => {
    database = await createDatabase();
    at = await mysqlEngineOn(database, 'beside').open();
  });
  afterAll(async () => {
    await at.close();
    await database.drop();
  });

  it('[OWN-5] goes on renewing after its idle connection was closed by the server', async () => {
    const [pack] = (await at.store.installPacks([
      { namespace: 'acme', pack: 'leased', version: '1.0.0' },
    ])) as [InstalledPack];
    const { packId, namespace } = pack;
    await at.store.materialize({ packId, namespace, receipts: [draftReceipt(pack)] });
    const { items } = await at.store.claim(claimRequest(pack, { leaseMs: 3_000 }));
    const connections = () =>
      at.sql<{ ID: number }>('SELECT ID FROM information_schema.PROCESSLIST WHERE DB = DATABASE()');
    const before = new Set((await connections()).map((row) => row.ID));

    const failures: Error[] = [];
    const data = { url: database.url, unsafeDurability: false };
    const { link, ended } = await openLeaseThread(data, systemClock, (error: Error) => failures.push(error));
    onTestFinished(ended);
    const messages = inbox();
    link.receive(messages.hear);
    const mine = (await connections()).filter((row) => !before.has(row.ID));
    expect(mine.length).toBeGreaterThan(0);
    for (const { ID } of mine) await at.sql(`KILL ${ID}`);
    const left = async () => (await connections()).filter((row) => !before.has(row.ID));
    await expect.poll(left, { timeout: 20_000 }).toEqual([]);

    const now = systemClock.monotonic();
    const beats = new SharedArrayBuffer(4);
    const beating = setInterval(() => Atomics.add(new Int32Array(beats), 0, 1), 100);
    onTestFinished(() => clearInterval(beating));
    link.send({ kind: 'open', leaseMs: 3_000, beats });
    const tracked = { id: 1, lease: items[0]!.lease, sentAt: now, renewUntil: now + 60_000 };
    link.send({ kind: 'leases', at: now, track: [tracked], untrack: [] });
    expect(await messages.next()).toMatchObject({ kind: 'renewed', ids: [1] });
    link.send({ kind: 'close' });
    let last = await messages.next();
    while (last.kind === 'renewed') last = await messages.next();
    expect(last).toEqual({ kind: 'closed' });
    expect(failures).toEqual([]);
  });
});
