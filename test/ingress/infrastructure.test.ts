import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { Contention, StoreOutage } from '../../src/store/driver.js';
import { CommitGate } from './commit-gate.js';
import { deliver, eventually, type Fixture, startIngress } from './ingress-fixture.js';
import { ManualClock } from './manual-clock.js';

const NOTHING = { receipts: 0, events: 0 };

async function expectUnavailable(response: Response, code: string, reason: string): Promise<void> {
  expect(response.status).toBe(503);
  expect(response.headers.get('content-type')).toBe('application/problem+json');
  expect(Number(response.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  expect(await response.json()).toMatchObject({ status: 503, code, reason });
}

/** Once the store is well again, the repeat is stored once. */
async function expectRecovery({ url, stored }: Fixture): Promise<void> {
  expect((await deliver(url)).status).toBe(202);
  expect(await stored()).toEqual({ receipts: 1, events: 1 });
}

test.each([
  ['a full disk', new StoreOutage('SQLITE_FULL: database or disk is full', 'none')],
  ['an I/O error', new StoreOutage('SQLITE_IOERR_WRITE: disk I/O error', 'none')],
  ['a database that cannot be reached', new StoreOutage('connect ECONNREFUSED', 'none')],
  ['a lock that is held too long', new Contention('database is locked')],
])('[ADM-3] %s is 503 store_unavailable with Retry-After, and nothing is stored', async (_name, error) => {
  let failing = true;
  const fixture = await startIngress({
    materialize: (real) => (request) => (failing ? Promise.reject(error) : real(request)),
  });
  await expectUnavailable(await deliver(fixture.url), 'store_unavailable', 'store_unavailable');
  expect(await fixture.stored()).toEqual(NOTHING);
  expect(fixture.decisions).toEqual(['store_unavailable']);
  failing = false;
  await expectRecovery(fixture);
});

test('[ADM-3] a commit without an answer is 503, and the repeat dedupes onto what it stored', async () => {
  let lost = true;
  const { url, stored } = await startIngress({
    materialize: (real) => async (request) => {
      const results = await real(request);
      if (!lost) return results;
      lost = false;
      throw new StoreOutage('the connection was lost at COMMIT', 'unknown');
    },
  });
  await expectUnavailable(await deliver(url), 'store_unavailable', 'store_unavailable');
  const repeat = await deliver(url);
  expect([repeat.status, await repeat.json()]).toEqual([200, expect.objectContaining({ duplicate: true })]);
  expect(await stored()).toEqual({ receipts: 1, events: 1 });
});

test('[ADM-3] a file locked by another connection past the deadline is 503; unlocked, all is well', async () => {
  const fixture = await startIngress({ busyTimeoutMs: 1, groupCommit: { deadlineMs: 500 } });
  const other = new Database(fixture.path);
  other.exec('BEGIN IMMEDIATE');
  await expectUnavailable(await deliver(fixture.url), 'commit_deadline', 'commit_deadline');
  expect(await fixture.stored()).toEqual(NOTHING);
  other.exec('ROLLBACK');
  other.close();
  // The commit that was given up goes on trying, and lands: once, however often the sender repeats.
  await eventually(fixture.stored).toEqual({ receipts: 1, events: 1 });
  expect((await deliver(fixture.url)).status).toBe(200);
  expect(await fixture.stored()).toEqual({ receipts: 1, events: 1 });
});

test('[ADM-3] a failure that nobody foresaw is 503 too, never 4xx, and its text stays out of answer and log', async () => {
  const fixture = await startIngress({
    materialize: () => () => {
      throw Object.assign(new TypeError('near "acme/site"'), { sql: 'INSERT acme/site' });
    },
  });
  const response = await deliver(fixture.url);
  expect(response.headers.get('retry-after')).toBe('30');
  expect(await response.clone().text()).not.toContain('acme/site');
  await expectUnavailable(response, 'internal', 'store_unavailable');
  expect(await fixture.stored()).toEqual(NOTHING);
  expect(fixture.logged()).toContain('a commit failed');
  expect(fixture.logged()).not.toContain('acme/site');
});

test('[ADM-3] a commit that does not end is 503 commit_deadline; what it stores later, the repeat finds', async () => {
  const clock = new ManualClock();
  const gate = new CommitGate();
  const { url, stored } = await startIngress({
    clock,
    materialize: gate.wrap,
    groupCommit: { deadlineMs: 5_000 },
  });
  const first = deliver(url);
  await gate.untilAsked(1);
  clock.advance(1);
  const second = deliver(url, { key: 'd-2' });
  await eventually(() => clock.waiting).toBe(2);
  clock.advance(4_999);
  await expectUnavailable(await first, 'commit_deadline', 'commit_deadline');
  // The commit is overdue: who comes now is not made to wait for it.
  await expectUnavailable(await deliver(url, { key: 'd-3' }), 'overloaded', 'overloaded');
  gate.open();
  expect((await second).status).toBe(202);
  expect(await stored()).toEqual({ receipts: 2, events: 2 });
  expect((await deliver(url)).status).toBe(200);
  expect(await stored()).toEqual({ receipts: 2, events: 2 });
});

test('[ADM-3] a receipt whose time was over before its commit began is not stored', async () => {
  const clock = new ManualClock();
  const gate = new CommitGate();
  const { url, stored } = await startIngress({
    clock,
    materialize: gate.wrap,
    groupCommit: { deadlineMs: 5_000 },
  });
  const first = deliver(url);
  await gate.untilAsked(1);
  const waiting = deliver(url, { key: 'd-2' });
  await eventually(() => clock.waiting).toBe(2);
  clock.advance(5_000);
  expect([(await first).status, (await waiting).status]).toEqual([503, 503]);
  gate.open();
  await eventually(stored).toEqual({ receipts: 1, events: 1 });
  expect(gate.asked).toHaveLength(1);
});

test('[ADM-1] no answer leaves before the commit has returned', async () => {
  const gate = new CommitGate();
  const { url, decisions } = await startIngress({ materialize: gate.wrap });
  let answered = false;
  const delivery = deliver(url).then((response) => {
    answered = true;
    return response;
  });
  await gate.untilAsked(1);
  // Another request goes all the way meanwhile: an early answer to the first would be here by now.
  expect((await deliver(url, { headers: { 'x-hub-signature-256': 'none' } })).status).toBe(401);
  expect([answered, decisions]).toEqual([false, ['invalid_signature']]);
  gate.open();
  expect((await delivery).status).toBe(202);
});

test('observers that throw do not touch the answer', async () => {
  const broken = (): void => {
    throw new Error('not my day');
  };
  const { url, logged } = await startIngress({ onCommitted: broken });
  expect((await deliver(url)).status).toBe(202);
  expect(logged()).toContain('waking the scheduler failed');
});
