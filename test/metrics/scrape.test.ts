import { register } from 'prom-client';
import { describe, expect, test } from 'vitest';
import { wordsOf } from '../../src/metrics/label-words.js';
import { METRICS, type Metric, type MetricScope, metricNames } from '../../src/metrics/metric-list.js';
import type { Exposition } from '../support/exposition.js';
import { sumOf } from '../support/exposition.js';
import { createDatabase } from '../support/mariadb.js';
import { type Served, serveSystem } from './served-system.js';

/** Every kind of request and every kind of end. */
async function work({ lanehead, send }: Served): Promise<void> {
  expect(await send({ id: 'plain' })).toBe(202);
  expect(await send({ id: 'plain' })).toBe(200);
  expect(await send({ id: 'forged', secret: 'another' })).toBe(401);
  expect(await send({ id: 'lost', path: '/in/acme/code/no-such-route-marker' })).toBe(404);
  for (const does of ['fail', 'retry', 'skip', 'dead'] as const)
    expect(await send({ id: does, does })).toBe(202);
  await lanehead.drainUntilIdle();
}

/** The list says exactly this: names, types, help, labels, and something under each. */
function expectListed(exposition: Exposition, scope: MetricScope): void {
  expect([...exposition.keys()].sort()).toEqual([...metricNames(scope)].sort());
  const empty = [...exposition].filter(([, { samples }]) => samples.length === 0);
  expect(empty.map(([name]) => name)).toEqual([]);
  for (const [name, { type, help, samples }] of exposition) {
    const metric: Metric = METRICS[name as keyof typeof METRICS];
    expect({ name, type, help }).toEqual({ name, type: metric.type, help: metric.help });
    for (const { labels } of samples) {
      const expected =
        metric.type === 'histogram' && 'le' in labels ? [...metric.labels, 'le'] : metric.labels;
      expect({ name, labels: Object.keys(labels).sort() }).toEqual({ name, labels: [...expected].sort() });
      for (const [label, word] of Object.entries(labels))
        expect(wordsOf(name, label) ?? [word], `${label} of ${name}`).toContain(word);
    }
  }
}

describe('[MET-1, MET-2, MET-3] /metrics of a running system, after work through it', () => {
  test('on SQLite has exactly the names and labels of the list', async () => {
    const served = await serveSystem({ stageTiming: true });
    await work(served);
    const exposition = await served.scrape();
    expectListed(exposition, { engine: 'sqlite', stageTiming: true });
    const acme = { namespace: 'acme', pack: 'code', route: 'push' };
    const requests = (labels: object) =>
      sumOf(exposition, 'lanehead_admission_requests_total', labels as Record<string, string>);
    expect(requests({ ...acme, decision: 'accepted' })).toBe(5);
    expect(requests({ ...acme, decision: 'duplicate' })).toBe(1);
    expect(requests({ ...acme, decision: 'invalid_signature' })).toBe(1);
    expect(requests({ namespace: '', pack: '', route: '', decision: 'unknown_route' })).toBe(1);
    const finished = (labels: object) =>
      sumOf(exposition, 'lanehead_work_finished_total', { ...acme, ...labels });
    expect(finished({ outcome: 'completed', state: 'completed' })).toBe(2);
    expect(finished({ outcome: 'skipped', state: 'skipped' })).toBe(1);
    expect(finished({ outcome: 'failed', state: 'pending' })).toBe(2);
    expect(finished({ state: 'dead' })).toBe(2);
    expect(sumOf(exposition, 'lanehead_work_retries_total', { ...acme, reason: 'retry_after' })).toBe(1);
    expect(sumOf(exposition, 'lanehead_work_retries_total', { ...acme, reason: 'flow_error' })).toBe(1);
    expect(sumOf(exposition, 'lanehead_info', { version: '0.1.0', engine: 'sqlite', role: 'all' })).toBe(1);
    expect(sumOf(exposition, 'lanehead_processing_budget_rows')).toBe(256);
    expect(sumOf(exposition, 'lanehead_executor_slots', { namespace: 'acme', pack: 'code' })).toBe(4);
    expect(sumOf(exposition, 'lanehead_executor_slots')).toBe(8);
    const text = await (await fetch(`${served.adminUrl}/metrics`)).text();
    expect(text).not.toMatch(/marker|plain|forged/);
  });

  test('on MariaDB too, with the pool in the place of inbox and log', async () => {
    const database = await createDatabase();
    const served = await serveSystem({ databaseUrl: database.url, poolSize: 3, admissionPoolSize: 2 });
    await work(served);
    const exposition = await served.scrape();
    expectListed(exposition, { engine: 'mysql', stageTiming: false });
    for (const [pool, most] of Object.entries({ drain: 3, admission: 2 })) {
      expect(sumOf(exposition, 'lanehead_store_pool_max_connections', { pool })).toBe(most);
      const open = sumOf(exposition, 'lanehead_store_pool_connections', { pool });
      expect(open).toBeGreaterThan(0);
      expect(open).toBeLessThanOrEqual(most);
    }
    await served.lanehead.stop();
    await database.drop();
  }, 120_000);
});

describe('/metrics', () => {
  test('is on the admin listener alone', async () => {
    const { url, adminUrl } = await serveSystem();
    expect((await fetch(`${url}/metrics`)).status).toBe(404);
    const other = await fetch(`${adminUrl}/metric`);
    expect(other.status).toBe(404);
    expect(other.headers.get('content-type')).toMatch(/^application\/problem\+json/);
    expect(await other.json()).toMatchObject({ code: 'not_found' });
  });

  test('of two systems in one process do not mix, and nothing is left in the process', async () => {
    const [one, two] = [await serveSystem(), await serveSystem()];
    await one.send({ id: 'a' });
    await one.lanehead.drainUntilIdle();
    const accepted = { decision: 'accepted' };
    expect(sumOf(await one.scrape(), 'lanehead_admission_requests_total', accepted)).toBe(1);
    expect(sumOf(await two.scrape(), 'lanehead_admission_requests_total', accepted)).toBe(0);
    await one.lanehead.stop();
    await two.lanehead.stop();
    expect(await register.getMetricsAsArray()).toEqual([]);
  });

  test('counts from zero what a rate is taken of, for every pack that is served', async () => {
    const exposition = await (await serveSystem()).scrape();
    for (const namespace of ['acme', 'globex']) {
      const labels = { namespace, pack: 'code' };
      expect(exposition.get('lanehead_slot_crashes_total')!.samples).toContainEqual({ labels, value: 0 });
    }
    expect(exposition.get('lanehead_admission_retries_total')!.samples).toContainEqual({
      labels: { reason: 'overloaded' },
      value: 0,
    });
  });
});
