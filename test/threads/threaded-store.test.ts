import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { openThreadedSqliteStore } from '../../dist/threads/threaded-store.js';
import type { OpenedStore } from '../conformance/engine.js';
import { describeStore } from '../conformance/store-suite.js';

async function openThreaded(): Promise<OpenedStore & { path: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'lanehead-thread-'));
  const path = join(folder, 'store.db');
  const { store } = await openThreadedSqliteStore({ path, unsafeDurability: false });
  await store.migrate();
  const beside = new Database(path);
  return {
    path,
    store,
    driver: undefined as never,
    async sql(text, params = []) {
      const statement = beside.prepare(text);
      return (statement.reader ? statement.all(...params) : [statement.run(...params)]) as never;
    },
    async close() {
      beside.close();
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

// The built product: a thread needs JavaScript. The whole suite, because every verb travels as a message.
describeStore({ name: 'SQLite in its thread', open: openThreaded });

describe('store thread', () => {
  it('a file that cannot be opened is an error of opening, with its cause', async () => {
    await expect(
      openThreadedSqliteStore({ path: '/nonexistent/folder/store.db', unsafeDurability: false }),
    ).rejects.toThrow(/directory/i);
    await expect(
      openThreadedSqliteStore({ path: ':memory:', unsafeDurability: false }),
    ).rejects.toMatchObject({
      code: 'durability_refused',
    });
  });

  it('closing twice is safe, and later calls are outages, not hangs', async () => {
    const at = await openThreaded();
    await at.store.close();
    await at.store.close();
    await expect(at.store.ping()).rejects.toThrow('closed');
    await at.close();
  });

  it('[PRS-2] [MET-2] tells how many calls wait, before they are answered', async () => {
    const at = await openThreaded();
    const calls = Array.from({ length: 50 }, () => at.store.stats({ exact: true }));
    let answered = 0;
    for (const call of calls) void call.then(() => answered++);
    const { inboxDepth, walBytes, poolWaitMs } = await at.store.pressure();
    expect(inboxDepth).toBeGreaterThan(0);
    expect(inboxDepth).toBeGreaterThanOrEqual(50 - answered - 1);
    expect({ walBytes: walBytes! > 0, poolWaitMs }).toEqual({ walBytes: true, poolWaitMs: null });
    await Promise.all(calls);
    expect((await at.store.pressure()).inboxDepth).toBe(0);
    await at.close();
  });

  it('a lease keeper inside the thread answers over its own port and closes', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'lanehead-thread-'));
    const threaded = await openThreadedSqliteStore({
      path: join(folder, 'store.db'),
      unsafeDurability: false,
    });
    const link = threaded.leaseLink();
    const closed = new Promise<void>((resolve) => {
      link.receive((message: { kind: string }) => {
        if (message.kind === 'closed') resolve();
      });
    });
    link.send({ kind: 'open', leaseMs: 1_000, beats: new SharedArrayBuffer(4) });
    link.send({ kind: 'close' });
    await closed;
    await threaded.store.close();
    rmSync(folder, { recursive: true, force: true });
  });
});
