import { describe, expect, test } from 'vitest';
import { ADMISSION_STAGES, DRAIN_STAGES } from '../../src/core/stopwatch.js';
import { delivery, type InThreadSystem, openSystem, SECRET } from '../support/in-thread-system.js';

/** Recognizable wherever it would come out, as it is and as base64. */
const MARKERS = {
  payload: 'marker-payload',
  source: 'marker-source',
  delivery: 'marker-delivery',
  header: 'marker-header',
  query: 'marker-query',
  bearer: 'marker-bearer',
  cookie: 'marker-cookie',
  forged: 'marker-forged',
  prefetched: 'marker-prefetched',
  secret: SECRET,
} as const;

const HEADERS = {
  authorization: `Bearer ${MARKERS.bearer}`,
  cookie: `session=${MARKERS.cookie}`,
  'x-provider-account': MARKERS.header,
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
};

const marked = (id: string, content: object = {}) => {
  const request = delivery(
    `${MARKERS.delivery}-${id}`,
    {
      source: `${MARKERS.source}-${id}`,
      text: MARKERS.payload,
      ...content,
    },
    { query: `?token=${MARKERS.query}` },
  );
  for (const [name, value] of Object.entries(HEADERS)) request.headers.set(name, value);
  return request;
};

async function everyKindOfWork(system: InThreadSystem): Promise<void> {
  const statuses: number[] = [];
  for (const does of ['nothing', 'skip', 'dead', 'fail'])
    statuses.push((await system.handle(marked(does, { does }))).status);
  statuses.push((await system.handle(marked('nothing', { does: 'nothing' }))).status);
  statuses.push((await system.handle(marked('nothing', { does: 'other bytes' }))).status);
  statuses.push((await system.handle(new Request(marked('nothing'), { method: 'PUT' }))).status);
  const forged = marked('forged');
  forged.headers.set('x-hub-signature-256', `sha256=${MARKERS.forged}`);
  statuses.push((await system.handle(forged)).status);
  expect(statuses).toEqual([202, 202, 202, 202, 200, 202, 405, 401]);
  await system.untilIdle();
}

const withSteps = {
  retry: { attempts: 1 },
  batchRead: () => MARKERS.prefetched,
  flow: (event: { json(): unknown }, ctx: { skip(why: string): never; dead(why: string): never }) => {
    const { does } = event.json() as { does: string };
    if (does === 'skip') ctx.skip('nothing to do');
    if (does === 'dead') ctx.dead('no such account');
    if (does === 'fail') throw new Error('the provider said no');
  },
};

interface Timed {
  readonly msg: string;
  readonly stagesMs: Readonly<Record<string, number>>;
  readonly [field: string]: unknown;
}

const timed = (system: InThreadSystem, msg: string): readonly Timed[] =>
  (system.lines() as unknown as readonly Timed[]).filter((line) => line.msg === msg);

describe('stage timing', () => {
  test('[MET-5, FLG-4] says of each request and each run where its time went, and nothing of what came in', async () => {
    const system = await openSystem({ route: withSteps, options: { stageTiming: true } });
    await everyKindOfWork(system);
    const admissions = timed(system, 'admission timed');
    expect(admissions).toHaveLength(8);
    expect(Object.keys(admissions[0]!.stagesMs)).toEqual([...ADMISSION_STAGES]);
    expect(admissions[0]).toMatchObject({
      namespace: 'acme',
      pack: 'code',
      route: 'push',
      decision: 'accepted',
      receiptId: expect.stringMatching(/^rcp_/),
    });
    expect(Object.keys(admissions.at(-1)!.stagesMs)).toEqual(['read', 'verify']);
    const runs = timed(system, 'work timed');
    expect(runs).toHaveLength(4);
    for (const { stagesMs, elapsedMs, ...line } of runs) {
      expect(Object.keys(stagesMs)).toEqual([...DRAIN_STAGES]);
      for (const stageMs of Object.values(stagesMs)) expect(stageMs).toBeGreaterThanOrEqual(0);
      const { queue_wait: _waited, ...own } = stagesMs;
      const sum = Object.values(own).reduce((total, stageMs) => total + stageMs, 0);
      expect(sum).toBeLessThanOrEqual((elapsedMs as number) + 0.01);
      expect(line).toMatchObject({ namespace: 'acme', pack: 'code', route: 'push', queueClass: 'default' });
    }
    const logged = system.logged();
    for (const [what, marker] of Object.entries(MARKERS)) {
      expect(logged.includes(marker), what).toBe(false);
      expect(logged.includes(Buffer.from(marker).toString('base64').slice(0, -2)), what).toBe(false);
    }
    expect(logged).not.toContain('0af7651916cd43dd8448eb211c80319c');
    const stages = (await system.scrape()).get('lanehead_stage_duration_seconds')!.samples;
    expect(new Set(stages.map(({ labels }) => labels.stage))).toEqual(
      new Set([...ADMISSION_STAGES, ...DRAIN_STAGES]),
    );
  });

  test('[FLG-4] is off unless it is asked for', async () => {
    const system = await openSystem({ route: withSteps });
    await everyKindOfWork(system);
    expect([...timed(system, 'admission timed'), ...timed(system, 'work timed')]).toEqual([]);
    expect((await system.scrape()).has('lanehead_stage_duration_seconds')).toBe(false);
  });
});

describe('the start line', () => {
  test('[MET-4] names workers, budget, profile, lease, pools, engine, packs, namespaces and role', async () => {
    const drain = {
      workersPerPack: 3,
      maxProcessingRows: 77,
      leaseMs: 12_345,
      queueProfile: 'default-heavy' as const,
    };
    const pools = { drain: { size: 9, leased: 1, idle: 2, waiting: 0 } };
    const system = await openSystem({
      options: { drain },
      store: (real) => ({ ...real, pools: async () => pools }),
    });
    const starts = system.lines().filter(({ msg }) => msg === 'started');
    expect(starts).toEqual([
      expect.objectContaining({
        level: 30,
        version: '0.1.0',
        role: 'all',
        engine: 'sqlite',
        packs: ['code@1.0.0'],
        namespaces: ['acme'],
        ...drain,
        flowDeadlineMs: 30_000,
        pools,
        metrics: true,
        tracing: false,
        stageTiming: false,
      }),
    ]);
  });
});
