import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/core/system.js';
import { openSqliteDriver, type SqliteDriver } from '../../../src/store/dialects/sqlite/driver.js';
import { Contention, DuplicateKey, StoreOutage } from '../../../src/store/driver.js';
import { type Plan, read, write } from '../../../src/store/plan.js';
import type { Statement } from '../../../src/store/statement.js';

const statement = (kind: 'read' | 'write', text: string): Statement => ({
  name: text,
  kind,
  maxSize: 1,
  sql: (dialect) => text.replace('NOW', dialect.now),
});
const insert = statement('write', 'INSERT INTO T (Id) VALUES (?)');
const all = statement('read', 'SELECT Id FROM T ORDER BY Id');

function* put(...ids: number[]): Plan<void> {
  for (const id of ids) yield* write(insert, [id]);
}

describe('SQLite driver', () => {
  let folder: string;
  let path: string;
  let driver: SqliteDriver;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'lanehead-driver-'));
    path = join(folder, 'store.db');
    driver = openSqliteDriver({ path, clock: systemClock, busyTimeoutMs: 50 });
    await driver.script(['CREATE TABLE T (Id INTEGER PRIMARY KEY) STRICT']);
  });
  afterEach(async () => {
    await driver.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const rows = () => driver.query(() => read<{ Id: number }>(all));

  it('[PRS-2] [MET-3] a reader that holds the write-ahead log makes it grow; it is cut back when the reader is gone', async () => {
    await driver.script(['CREATE TABLE B (Bytes BLOB)', 'PRAGMA journal_size_limit = 100000']);
    const grow = statement('write', 'INSERT INTO B VALUES (zeroblob(1000000))');
    const reader = new Database(path);
    reader.exec('BEGIN; SELECT * FROM T');
    for (let row = 0; row < 8; row++) driver.transactionNow(() => write(grow, []));
    const held = driver.pressure();
    expect(held).toMatchObject({ poolWaitMs: null });
    expect(held.walBytes).toBeGreaterThan(8_000_000);
    expect(held.statementMs).toBeGreaterThan(0);
    reader.close();
    // One commit checkpoints all of it, and the next one starts the log anew.
    for (let id = 1; id <= 2; id++) driver.transactionNow(() => put(id));
    expect(driver.pressure().walBytes).toBeLessThanOrEqual(100_000);
  });

  it('[ADM-1] opens files in WAL with synchronous=FULL, and refuses what keeps nothing', () => {
    const pragma = statement('read', 'PRAGMA synchronous');
    expect(driver.transactionNow(() => read(pragma))).toEqual([{ synchronous: 2 }]);
    expect(driver.transactionNow(() => read(statement('read', 'PRAGMA journal_mode')))).toEqual([
      { journal_mode: 'wal' },
    ]);
    expect(() => openSqliteDriver({ path: ':memory:', clock: systemClock })).toThrow(
      expect.objectContaining({ code: 'durability_refused' }),
    );
  });

  it('throws a refused key into the plan, where the transaction can go on', async () => {
    await driver.transaction(function* () {
      yield* put(1);
      try {
        yield* put(1);
      } catch (error) {
        expect(error).toBeInstanceOf(DuplicateKey);
      }
      yield* put(2);
    });
    expect(await rows()).toEqual([{ Id: 1 }, { Id: 2 }]);
  });

  it('rolls everything back when the plan fails', async () => {
    const failing = driver.transaction(function* () {
      yield* put(1);
      throw new Error('bug');
    });
    await expect(failing).rejects.toThrow('bug');
    await expect(driver.transaction(() => put(3, 3))).rejects.toBeInstanceOf(DuplicateKey);
    expect(await rows()).toEqual([]);
  });

  it('meets another writer as contention, not as an outage', async () => {
    const other = new Database(path);
    other.exec('BEGIN IMMEDIATE');
    await expect(driver.transaction(() => put(1))).rejects.toBeInstanceOf(Contention);
    other.exec('ROLLBACK');
    other.close();
    await driver.transaction(() => put(1));
  });

  it('reports a full database as an outage that stored nothing', async () => {
    await driver.script([
      'CREATE TABLE Big (Id INTEGER PRIMARY KEY, Bytes BLOB) STRICT',
      'PRAGMA max_page_count = 20',
    ]);
    const fill = statement('write', 'INSERT INTO Big (Bytes) VALUES (zeroblob(?))');
    const error = await driver.transaction(() => write(fill, [400_000])).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(StoreOutage);
    expect((error as StoreOutage).outcome).toBe('none');
    await driver.transaction(() => put(1));
    expect(await rows()).toEqual([{ Id: 1 }]);
  });

  it('takes the time from the clock it was given', async () => {
    const clock = { ...systemClock, now: () => 1_234_567_890_123 };
    const beside = openSqliteDriver({ path, clock });
    expect(await beside.query(() => read(statement('read', 'SELECT NOW AS Now')))).toEqual([
      { Now: 1_234_567_890_123 },
    ]);
    await beside.close();
  });
});
