import { describe, expect, test } from 'vitest';
import { MetricSet } from '../../src/metrics/metric-set.js';
import { PackDirectory } from '../../src/metrics/pack-names.js';
import { ScrapedGauges } from '../../src/metrics/scraped-gauges.js';
import { StoreOutage } from '../../src/store/store.js';
import { parseExposition, sumOf } from '../support/exposition.js';
import { delivery, openSystem } from '../support/in-thread-system.js';
import { ManualClock } from '../support/manual-clock.js';
import { gate } from '../support/work-bench.js';

const ACME = { namespace: 'acme', pack: 'code' };
const ROUTE = { ...ACME, route: 'push' };

describe('admission', () => {
  test('[ADM-5, MET-1] every decision counts once, with its route, and every 503 with its reason', async () => {
    const outage = () => Promise.reject(new StoreOutage('the disk is gone', 'none'));
    let failing = false;
    const system = await openSystem({
      store: (real) => ({
        ...real,
        materialize: (request) => (failing ? outage() : real.materialize(request)),
      }),
    });
    expect((await system.handle(delivery('a'))).status).toBe(202);
    expect((await system.handle(delivery('a', {}, { method: 'PUT' }))).status).toBe(405);
    failing = true;
    expect((await system.handle(delivery('b'))).status).toBe(503);
    const exposition = await system.scrape();
    const requests = (decision: string) =>
      sumOf(exposition, 'lanehead_admission_requests_total', { ...ROUTE, decision });
    expect([requests('accepted'), requests('method_not_allowed'), requests('store_unavailable')]).toEqual([
      1, 1, 1,
    ]);
    expect(sumOf(exposition, 'lanehead_admission_requests_total')).toBe(3);
    const retries = (reason: string) => sumOf(exposition, 'lanehead_admission_retries_total', { reason });
    expect([retries('store_unavailable'), retries('overloaded')]).toEqual([1, 0]);
  });

  test('[ADM-5, MET-1] what is refused for overload counts under what there was too much of', async () => {
    const { opened, open } = gate();
    const system = await openSystem({
      ingress: { inFlight: { requests: 1, bytes: 1_000 } },
      store: (real) => ({
        ...real,
        materialize: async (request) => {
          await opened;
          return await real.materialize(request);
        },
      }),
    });
    const first = system.handle(delivery('a'));
    const held = async () =>
      sumOf(await system.scrape(), 'lanehead_admission_in_flight_requests', { stage: 'verified' });
    await expect.poll(held).toBe(1);
    expect((await system.handle(delivery('b'))).status).toBe(503);
    const exposition = await system.scrape();
    const shed = (reason: string) => sumOf(exposition, 'lanehead_admission_shed_total', { reason });
    expect([shed('requests'), shed('bytes'), shed('unverified')]).toEqual([1, 0, 0]);
    const warning = { msg: 'requests are refused as overloaded', ...ROUTE, reason: 'requests', refused: 1 };
    expect(system.lines()).toContainEqual(expect.objectContaining(warning));
    open();
    expect((await first).status).toBe(202);
  });

  test('[MET-2] tells what is in flight, what waits for a commit, and how commits ended', async () => {
    const { opened, open } = gate();
    let entered = 0;
    const system = await openSystem({
      store: (real) => ({
        ...real,
        materialize: async (request) => {
          entered++;
          await opened;
          return await real.materialize(request);
        },
      }),
    });
    const sent = ['a', 'b', 'c'].map((id) => system.handle(delivery(id)));
    await expect.poll(() => entered).toBe(1);
    await expect.poll(async () => sumOf(await system.scrape(), 'lanehead_commit_waiting_receipts')).toBe(2);
    const during = await system.scrape();
    expect(sumOf(during, 'lanehead_admission_in_flight_requests')).toBe(3);
    expect(sumOf(during, 'lanehead_admission_in_flight_bytes')).toBe(3 * '{"source":"a"}'.length);
    open();
    await Promise.all(sent);
    const after = await system.scrape();
    expect(sumOf(after, 'lanehead_admission_in_flight_requests')).toBe(0);
    expect(sumOf(after, 'lanehead_commit_waiting_receipts')).toBe(0);
    const commits = after.get('lanehead_commit_duration_seconds')!.samples;
    expect(commits).toContainEqual({ labels: { outcome: 'stored', le: '+Inf' }, value: 2 });
  });
});

describe('drain', () => {
  test('[MET-3] decisions of the limiter carry scope and probe, rows in processing are those of the store', async () => {
    const { opened, open } = gate();
    const system = await openSystem({
      route: { flow: () => opened },
      options: { drain: { workersPerPack: 1, maxProcessingRows: 7 } },
    });
    await system.handle(delivery('a'));
    await expect.poll(() => system.supervisor.heldLeases).toBe(1);
    await system.handle(delivery('b'));
    const during = await system.scrape();
    expect(sumOf(during, 'lanehead_processing_rows', ACME)).toBe(1);
    expect(sumOf(during, 'lanehead_processing_stale_rows', ACME)).toBe(0);
    expect(sumOf(during, 'lanehead_processing_budget_rows')).toBe(7);
    expect(sumOf(during, 'lanehead_held_leases')).toBe(1);
    expect(
      sumOf(during, 'lanehead_oldest_ready_seconds', { ...ACME, queue_class: 'default' }),
    ).toBeGreaterThan(0);
    expect(sumOf(during, 'lanehead_oldest_ready_seconds', { ...ACME, queue_class: 'bulk' })).toBe(0);
    open();
    await system.untilIdle();
    const after = await system.scrape();
    const decided = { ...ACME, scope: 'all', decision: 'granted', probe: 'none' };
    expect(sumOf(after, 'lanehead_claim_decisions_total', decided)).toBeGreaterThanOrEqual(2);
    expect(sumOf(after, 'lanehead_claim_waits_total', ACME)).toBe(0);
    expect(sumOf(after, 'lanehead_processing_rows', ACME)).toBe(0);
    expect(
      sumOf(after, 'lanehead_claimed_items_total', { ...ACME, queue_class: 'default', kind: 'fresh' }),
    ).toBe(2);
    const waits = after.get('lanehead_queue_wait_seconds')!.samples;
    expect(waits).toContainEqual({ labels: { pack: 'code', queue_class: 'default', le: '+Inf' }, value: 2 });
  });

  test('[RSV-1] [MET-3] permits of a scan are those of one shape, no more than its waiting slots, and gone with the scan', async () => {
    const { opened, open } = gate();
    let held = false;
    const system = await openSystem({
      options: { drain: { workersPerPack: 8 } },
      store: (real) => ({
        ...real,
        claim: async (request) => {
          const answer = await real.claim(request);
          if (answer.items.length > 0) {
            held = true;
            await opened;
          }
          return answer;
        },
      }),
    });
    const slotsOf = async (name: string): Promise<Record<string, number>> => {
      const { samples } = (await system.scrape()).get(name)!;
      return Object.fromEntries(samples.map(({ labels, value }) => [labels.shape, value]));
    };
    await system.handle(delivery('a'));
    await expect.poll(() => held).toBe(true);
    expect(await slotsOf('lanehead_waiting_slots')).toEqual({ latency: 2, bulk: 2, shared: 4 });
    const { latency, bulk, shared } = await slotsOf('lanehead_claim_permits');
    expect(bulk).toBe(0);
    expect(`${latency} ${shared}`).toMatch(/^(2 0|0 4)$/);
    open();
    await system.untilIdle();
    await expect.poll(() => slotsOf('lanehead_claim_permits')).toEqual({ latency: 0, bulk: 0, shared: 0 });
  });

  test('[MET-3] what is held stays to be seen until somebody decides, also by a process that saw none of it', async () => {
    const system = await openSystem({
      route: {
        onDead: 'hold',
        flow: (_event, ctx) => ctx.dead('no such account'),
      },
    });
    const held = async () => sumOf(await system.scrape(), 'lanehead_held_rows', ACME);
    expect(await held()).toBe(0);
    await system.handle(delivery('a'));
    await expect.poll(held, { timeout: 20_000 }).toBe(1);
    expect(sumOf(await system.scrape(), 'lanehead_work_finished_total', { ...ROUTE, state: 'held' })).toBe(1);
    const [event] = (await system.store.listEvents({ state: 'held', limit: 1 })).items;
    const filter = { event: event!.id };
    await system.store.act({ actionId: 'act_1', kind: 'skip', actor: 'ada', reason: 'gone', filter });
    expect(await held()).toBe(0);
  });

  test('[MET-3] a pressed store shows as decisions, waits and the reading of its probe', async () => {
    const pressed = { poolWaitMs: null, statementMs: 0, inboxDepth: null, walBytes: 2 ** 31 };
    const system = await openSystem({
      store: (real) => ({ ...real, pressure: async () => pressed }),
      options: { drain: { workersPerPack: 4 } },
    });
    const scopesOf = async (name: string): Promise<(string | undefined)[]> => {
      const { samples } = (await system.scrape()).get(name)!;
      return samples.filter(({ value }) => value > 0).map(({ labels }) => labels.scope);
    };
    // The first look, for the latency slots, comes before the first reading.
    const inTime = { timeout: 20_000 };
    await expect.poll(() => scopesOf('lanehead_claim_waits_total'), inTime).toContain('bulk');
    await expect.poll(() => scopesOf('lanehead_claim_waits_total'), inTime).toContain('all');
    const decided = new Set(await scopesOf('lanehead_claim_decisions_total'));
    expect(decided).toEqual(new Set(['interactive+default', 'bulk', 'all']));
    const exposition = await system.scrape();
    const denied = { ...ACME, decision: 'denied', probe: 'walBytes' };
    expect(sumOf(exposition, 'lanehead_claim_decisions_total', denied)).toBeGreaterThan(0);
    expect(sumOf(exposition, 'lanehead_store_wal_bytes')).toBe(2 ** 31);
    const warnings = system.lines().filter(({ msg }) => msg === 'the store is pressed: claims are held back');
    expect(warnings).toMatchObject([{ decision: 'denied', probe: 'walBytes' }]);
  });

  test('[MET-3] a run is counted by its outcome and by what became of the row; a retry by its reason', async () => {
    const system = await openSystem({
      route: {
        retry: { attempts: 2, baseMs: 1, maxMs: 1 },
        flow: () => {
          throw new Error('the provider said no');
        },
      },
    });
    await system.handle(delivery('a'));
    const runs = async (state: string) =>
      sumOf(await system.scrape(), 'lanehead_work_finished_total', { ...ROUTE, outcome: 'failed', state });
    await expect.poll(() => runs('dead'), { timeout: 20_000 }).toBe(1);
    expect(await runs('pending')).toBe(1);
    const retries = sumOf(await system.scrape(), 'lanehead_work_retries_total', {
      ...ROUTE,
      reason: 'flow_error',
    });
    expect(retries).toBe(1);
  });
});

describe('a scrape', () => {
  test('goes on without a store that fails or hangs, and counts what it did without', async () => {
    const clock = new ManualClock();
    const metrics = new MetricSet({ engine: 'sqlite', stageTiming: false });
    const gauges = new ScrapedGauges(metrics, {
      store: {
        queueGauges: () => Promise.reject(new StoreOutage('gone', 'none')),
        pressure: () => new Promise(() => undefined),
        pools: async () => ({}),
      },
      packs: new PackDirectory(() => []),
      clock,
      ingressLoad: () => ({
        unverified: { requests: 2, bytes: 0 },
        verified: { requests: 3, bytes: 0 },
        waitingReceipts: 0,
      }),
      heldLeases: () => 0,
      pools: () => new Map(),
    });
    const refreshed = gauges.refresh();
    await clock.advance(2_000);
    await refreshed;
    const exposition = parseExposition(await metrics.text());
    expect(sumOf(exposition, 'lanehead_admission_in_flight_requests')).toBe(5);
    const failures = exposition.get('lanehead_scrape_failures_total')!.samples;
    expect(Object.fromEntries(failures.map(({ labels, value }) => [labels.source, value]))).toEqual({
      queue: 1,
      pressure: 1,
      pool: 0,
    });
  });
});
