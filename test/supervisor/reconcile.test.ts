import { describe, expect, test } from 'vitest';
import type { Random } from '../../src/core/random.js';
import type { ClaimRequest } from '../../src/store/store.js';
import type { SupervisedPack, Supervisor } from '../../src/supervisor/supervisor.js';
import { turns, until } from '../support/manual-clock.js';
import { gate, packOf, record, useBench, type WorkBench } from '../support/work-bench.js';

const openBench = useBench();
const HOUR_MS = 3_600_000;
const RECONCILES = 3_000;
const REPLACEMENTS = 500;

const poolOf = (bench: WorkBench, supervisor: Supervisor) => supervisor.pools.get(bench.installed.packId);
const scansOf = ({ steered }: WorkBench) => steered.count('peek') + steered.count('claim');

/** Rows that nobody may claim: half of them delayed, the others blocked behind a delayed head. */
async function admitUnclaimable(bench: WorkBench, rows: number): Promise<void> {
  const runAfter = bench.clock.now() + HOUR_MS;
  const blocked = Array.from({ length: rows / 2 }, () => ({ source: 'blocked' }));
  await bench.admit(
    { events: [{ source: 'blocked', runAfter }, ...blocked] },
    { events: Array.from({ length: rows / 2 }, (_, n) => ({ source: `delayed-${n}`, runAfter })) },
  );
}

describe('a reconcile that changes nothing', () => {
  test(`[SCH-5, SCH-9] ${RECONCILES} times over a thousand blocked and delayed rows leaves the same scheduler in place`, async () => {
    const bench = await openBench();
    await admitUnclaimable(bench, 1_000);
    const pack = packOf(() => undefined);
    const supervisor = bench.supervise(pack);
    supervisor.start();
    await until(() => supervisor.isIdle, 'the scheduler rests');
    const pool = poolOf(bench, supervisor)!;
    const { scheduler } = pool;
    const timers = bench.clock.pending;
    const scans = scansOf(bench);
    for (let n = 0; n < RECONCILES; n++) {
      await supervisor.reconcile([{ pack, installed: { ...bench.installed } }]);
      expect(poolOf(bench, supervisor)).toBe(pool);
      expect(pool.scheduler).toBe(scheduler);
      expect(bench.clock.pending).toBe(timers);
    }
    await bench.clock.advance(0);
    expect(scansOf(bench)).toBe(scans + 1);
    expect(pool.isRunning).toBe(true);
    expect(bench.clock.pending).toBe(timers);
    expect(bench.log.lines.filter(({ message }) => message === 'workers started')).toHaveLength(1);
    expect(bench.states().every((state) => state === 'pending')).toBe(true);
  });

  test('[SCH-5] makes a scheduler look that nobody woke, at the price of that look', async () => {
    const bench = await openBench();
    const pack = packOf(() => undefined);
    const supervisor = bench.supervise(pack, { settings: { poll: { minMs: 60_000, maxMs: 60_000 } } });
    supervisor.start();
    await until(() => supervisor.isIdle, 'the scheduler rests');
    const claims = bench.steered.count('claim');
    await supervisor.reconcile([{ pack, installed: bench.installed }]);
    await bench.clock.advance(0);
    expect(bench.steered.count('claim')).toBe(claims);
    await bench.admitSources(1);
    await supervisor.reconcile([{ pack, installed: bench.installed }]);
    await bench.clock.advance(0);
    await bench.untilStates('completed');
    expect(bench.clock.monotonic()).toBe(0);
  });

  test('[SCH-9] an item that becomes due is met by the scheduler that is there', async () => {
    const bench = await openBench();
    await admitUnclaimable(bench, 100);
    const pack = packOf(() => undefined);
    const supervisor = bench.supervise(pack);
    supervisor.start();
    await until(() => supervisor.isIdle, 'the scheduler rests');
    const pool = poolOf(bench, supervisor);
    bench.clock.jump(HOUR_MS);
    for (let n = 0; n < 10; n++) await supervisor.reconcile([{ pack, installed: bench.installed }]);
    await bench.clock.advance(2_000);
    await until(() => bench.states().every((state) => state === 'completed'), 'all ran');
    expect(poolOf(bench, supervisor)).toBe(pool);
  });
});

describe('a reconcile', () => {
  const pack = packOf(() => undefined);
  const changes: Readonly<Record<string, (now: SupervisedPack) => SupervisedPack>> = {
    'the definition': (now) => ({ ...now, pack: { ...pack } }),
    'the incarnation': (now) => ({ ...now, installed: { ...now.installed, generation: 2 } }),
    'the slots': (now) => ({ ...now, settings: { workersPerPack: 7 } }),
    'the shapes': (now) => ({ ...now, settings: { queueProfile: 'default-heavy' } }),
    'the budget': (now) => ({ ...now, settings: { maxProcessingRows: 3 } }),
    'the poll': (now) => ({ ...now, settings: { poll: { minMs: 10, maxMs: 20 } } }),
    'the sweep': (now) => ({ ...now, settings: { repairEveryMs: 5 } }),
  };
  test.each(Object.keys(changes))(
    '[SCH-5, SCH-9] that changes %s builds one new pool, and the next one keeps it',
    async (what) => {
      const bench = await openBench();
      const before: SupervisedPack = { pack, installed: bench.installed };
      const supervisor = bench.supervise(pack);
      supervisor.start();
      await until(() => supervisor.isIdle, 'the scheduler rests');
      const first = poolOf(bench, supervisor);
      await supervisor.reconcile([changes[what]!(before)]);
      const second = poolOf(bench, supervisor);
      expect(second).not.toBe(first);
      expect(first!.isRunning).toBe(false);
      await supervisor.reconcile(
        [changes[what]!(before)].map((one) => ({ ...one, installed: { ...one.installed } })),
      );
      // A changed definition is another object each time.
      if (what !== 'the definition') expect(poolOf(bench, supervisor)).toBe(second);
    },
  );

  test('with wrong settings of a pack changes nothing and says which', async () => {
    const bench = await openBench();
    const supervisor = bench.supervise(pack);
    supervisor.start();
    const pool = poolOf(bench, supervisor);
    const wrong = { pack, installed: bench.installed, settings: { workersPerPack: 0 } };
    await expect(supervisor.reconcile([wrong])).rejects.toThrow(/workersPerPack/);
    expect(poolOf(bench, supervisor)).toBe(pool);
  });

  test('[SCH-2, SCH-5] in which a stop comes during the last scan of the old pool opens no new one', async () => {
    const bench = await openBench();
    const supervisor = bench.supervise(pack);
    supervisor.start();
    await until(() => supervisor.isIdle, 'the scheduler rests');
    const scan = bench.steered.holdAnswer('peek');
    await bench.clock.advance(1_000);
    await until(scan.arrived, 'a look is on its way');
    const replacing = supervisor.reconcile([{ pack: { ...pack }, installed: bench.installed }]);
    await turns();
    const stop = supervisor.stop({ timeoutMs: 60_000 });
    const scans = scansOf(bench);
    scan.release();
    expect(await stop).toEqual({ drained: true, abandoned: 0 });
    await replacing;
    await bench.clock.advance(HOUR_MS);
    expect(scansOf(bench)).toBe(scans);
    expect(bench.clock.pending).toBe(0);
  });

  test('[SCH-5, SUP-6] rebuilds a pool that has lost a slot, and only then', async () => {
    const bench = await openBench();
    const { random: real } = bench;
    let broken = true;
    const random: Random = {
      bytes: (count) => real.bytes(count),
      float() {
        if (broken) throw new Error('no chance');
        return real.float();
      },
    };
    const faulty = packOf((event, ctx) => {
      if (event.sourceKey === 'source-1' && ctx.attempt === 1) throw new Error('leads to a delay');
    });
    const supervisor = bench.supervise(faulty, { random, settings: { workersPerPack: 1 } });
    supervisor.start();
    const pool = poolOf(bench, supervisor)!;
    await bench.admitSources(2);
    supervisor.wake();
    await until(() => !pool.isRunning, 'the slot ends');
    expect(supervisor.isSound).toBe(false);
    broken = false;
    const wanted = [{ pack: faulty, installed: bench.installed }];
    await supervisor.reconcile(wanted);
    const next = poolOf(bench, supervisor)!;
    expect(next).not.toBe(pool);
    expect(supervisor.isSound).toBe(true);
    await bench.untilStates('processing', 'completed');
    await supervisor.reconcile(wanted);
    expect(poolOf(bench, supervisor)).toBe(next);
    await bench.clock.advance(200_000);
    await bench.untilStates('completed', 'completed');
    expect(bench.items()[0]).toMatchObject({ Failures: 1, LastErrorCode: 'lease_expired' });
    expect(bench.steered.mostScans).toBe(1);
  });
});

describe('a paused pack', () => {
  async function paused() {
    const bench = await openBench();
    const finish = gate();
    const ran: string[] = [];
    const pack = packOf(async (event) => {
      ran.push(event.sourceKey);
      await finish.opened;
    });
    const supervisor = bench.supervise(pack, { settings: { workersPerPack: 1 } });
    const started = record(supervisor.events, 'started');
    await bench.admitSources(2);
    supervisor.start();
    await until(() => started.length === 1, 'a flow runs');
    const { packId } = bench.installed;
    const becomes = async (status: 'active' | 'paused') => {
      const installed = await bench.store.setPackStatus(packId, status);
      await supervisor.reconcile([{ pack, installed }]);
    };
    await becomes('paused');
    return { bench, supervisor, finish, ran, becomes, pack };
  }

  test('[SCH-2] drains: what runs ends, nothing is claimed, and nothing is asked', async () => {
    const { bench, supervisor, finish, ran } = await paused();
    expect(supervisor.pools.size).toBe(0);
    expect(supervisor.isIdle).toBe(false);
    const scans = scansOf(bench);
    finish.open();
    await bench.untilStates('completed', 'pending');
    await bench.clock.advance(HOUR_MS);
    supervisor.wake(bench.installed.packId);
    await turns();
    expect(scansOf(bench)).toBe(scans);
    expect(ran).toEqual(['source-1']);
    expect(supervisor.isIdle).toBe(true);
    expect(bench.clock.pending).toBe(0);
  });

  test('is in service again once it is resumed, twice or not, while its old executors still drain', async () => {
    const { bench, finish, ran, becomes } = await paused();
    await becomes('paused');
    await Promise.all([becomes('active'), becomes('active')]);
    await until(() => ran.length === 2, 'the other item runs');
    expect(bench.states()).toEqual(['processing', 'processing']);
    finish.open();
    await bench.untilStates('completed', 'completed');
    expect(bench.steered.mostScans).toBe(1);
  });

  test('stays out of service when it is resumed while the process stops', async () => {
    const { bench, supervisor, finish, ran, becomes } = await paused();
    const stop = supervisor.stop({ timeoutMs: 60_000 });
    await becomes('active');
    finish.open();
    expect(await stop).toEqual({ drained: true, abandoned: 0 });
    await bench.clock.advance(HOUR_MS);
    expect(ran).toEqual(['source-1']);
    expect(bench.states()).toEqual(['completed', 'pending']);
    expect(bench.clock.pending).toBe(0);
  });

  test('that is resumed before its last scan has ended scans no sooner than that scan is over', async () => {
    const bench = await openBench();
    const pack = packOf(() => undefined);
    const supervisor = bench.supervise(pack);
    supervisor.start();
    await until(() => supervisor.isIdle, 'the scheduler rests');
    const scan = bench.steered.holdAnswer('peek');
    await bench.clock.advance(1_000);
    await until(scan.arrived, 'a look is on its way');
    const scans = scansOf(bench);
    const both = Promise.all([
      supervisor.reconcile([{ pack, installed: { ...bench.installed, status: 'paused' } }]),
      supervisor.reconcile([{ pack, installed: bench.installed }]),
    ]);
    await bench.admitSources(1);
    supervisor.wake();
    await turns();
    expect(scansOf(bench)).toBe(scans);
    scan.release();
    await both;
    await bench.untilStates('completed');
    expect(bench.steered.mostScans).toBe(1);
  });
});

test('a pack that is not wanted any more drains, and its open items wait for a process that knows it', async () => {
  const bench = await openBench();
  const finish = gate();
  const supervisor = bench.supervise(
    packOf(() => finish.opened),
    { settings: { workersPerPack: 1 } },
  );
  const started = record(supervisor.events, 'started');
  await bench.admitSources(2);
  supervisor.start();
  await until(() => started.length === 1, 'a flow runs');
  await supervisor.reconcile([]);
  finish.open();
  await bench.untilStates('completed', 'pending');
  const claims = bench.steered.calls.filter(({ verb }) => verb === 'claim').length;
  bench
    .supervise(
      packOf(() => undefined),
      { holder: 'another' },
    )
    .start();
  await bench.untilStates('completed', 'completed');
  const after = bench.steered.calls.filter(({ verb }) => verb === 'claim').slice(claims);
  expect(after.every(({ args }) => (args[0] as ClaimRequest).holder === 'another')).toBe(true);
});

test('pools that cannot be changed are said to be so, and the next reconcile changes them', async () => {
  const bench = await openBench();
  const pack = packOf(() => undefined);
  const supervisor = bench.supervise(pack);
  supervisor.start();
  await until(() => supervisor.isIdle, 'the scheduler rests');
  const unreadable = {
    ...pack,
    get version(): string {
      throw new Error('no version');
    },
  };
  await supervisor.reconcile([{ pack: unreadable, installed: bench.installed }]);
  expect(bench.log.lines.at(-1)).toMatchObject({ level: 'error', message: 'pools could not be changed' });
  expect(supervisor.isSound).toBe(false);
  await supervisor.reconcile([{ pack, installed: bench.installed }]);
  expect(supervisor.isSound).toBe(true);
  await bench.admitSources(1);
  await bench.untilStates('completed');
});

test(`${REPLACEMENTS} replacements, and as many pauses and resumptions, leave one pool, its timers, and nothing that drains`, async () => {
  const bench = await openBench();
  const supervisor = bench.supervise(packOf(() => undefined));
  supervisor.start();
  await until(() => supervisor.isIdle, 'the scheduler rests');
  const timers = bench.clock.pending;
  const { installed } = bench;
  for (let n = 0; n < REPLACEMENTS; n++) {
    const pack = packOf(() => undefined);
    await supervisor.reconcile([{ pack, installed }]);
    await supervisor.reconcile([{ pack, installed: { ...installed, status: 'paused' } }]);
    expect(supervisor.pools.size).toBe(0);
    await supervisor.reconcile([{ pack, installed }]);
    expect(supervisor.pools.size).toBe(1);
  }
  await until(() => supervisor.isIdle, 'the scheduler rests, and nothing drains');
  expect(supervisor.isSound).toBe(true);
  expect(bench.clock.pending).toBe(timers);
  expect(bench.steered.mostScans).toBe(1);
});
