import { describe, expect, test } from 'vitest';
import type { FlowEvent } from '../../src/packs/types.js';
import { StoreOutage } from '../../src/store/driver.js';
import { until } from '../support/manual-clock.js';
import { packOf, packOfRoutes, record, useBench } from '../support/work-bench.js';

const openBench = useBench();
const sources = (events: readonly FlowEvent[]): string[] => events.map((event) => event.sourceKey);

describe('input of a claim', () => {
  test('[SCH-7] is loaded and batch-read only for items this process holds, once per claim and route', async () => {
    const bench = await openBench();
    await bench.admitSources(5, ['bulk']);
    const reads: { readonly sources: string[]; readonly processing: number }[] = [];
    const seen: unknown[] = [];
    const pack = packOf((event, ctx) => void seen.push([event.sourceKey, ctx.prefetched]), {
      batchRead: async (events) => {
        const processing = bench.states().filter((state) => state === 'processing').length;
        reads.push({ sources: sources(events), processing });
        return new Map(events.map((event) => [event.sourceKey, event.ordinal]));
      },
    });
    bench.supervise(pack, { settings: { workersPerPack: 3 } }).start();
    await bench.untilStates(...Array<string>(5).fill('completed'));
    expect(reads).toEqual([
      { sources: ['source-1', 'source-2'], processing: 2 },
      { sources: ['source-3', 'source-4'], processing: 2 },
      { sources: ['source-5'], processing: 1 },
    ]);
    const loads = bench.steered.calls.filter((call) => call.verb === 'loadEvents');
    expect(loads.map((call) => (call.args[0] as string[]).length)).toEqual([2, 2, 1]);
    expect(seen[3]).toEqual([
      'source-4',
      new Map([
        ['source-3', 2],
        ['source-4', 3],
      ]),
    ]);
  });

  test('[SCH-7] a batch read that throws fails the items of its route, and no others', async () => {
    const bench = await openBench();
    await bench.admit(
      { route: 'broken', events: [{ source: 'a' }, { source: 'b' }] },
      { route: 'sound', events: [{ source: 'c' }] },
    );
    const broken = {
      flow: () => undefined,
      batchRead: () => {
        throw new Error('the directory is down');
      },
    };
    bench.supervise(packOfRoutes({ broken, sound: { flow: () => undefined } })).start();
    await bench.untilStates('pending', 'pending', 'completed');
    expect(bench.items().map((row) => [row.Failures, row.LastErrorCode, row.LastError])).toEqual([
      [1, 'batch_read_error', 'Error: the directory is down'],
      [1, 'batch_read_error', 'Error: the directory is down'],
      [0, null, null],
    ]);
  });

  test('[EXE-6] items no flow serves are neither loaded nor batch-read, and end with a record', async () => {
    const bench = await openBench();
    await bench.admit(
      { route: 'gone', events: [{ source: 'a' }] },
      { routeVersion: 9, events: [{ source: 'b' }] },
      { events: [{ source: 'c' }] },
    );
    const reads: string[][] = [];
    const pack = packOf(() => undefined, {
      version: 2,
      batchRead: (events) => void reads.push(sources(events)),
    });
    bench.supervise(pack).start();
    await bench.untilStates('dead', 'pending', 'completed');
    expect(reads).toEqual([['c']]);
    const loads = bench.steered.calls.filter((call) => call.verb === 'loadEvents');
    expect(loads.map((call) => call.args)).toEqual([[[bench.items()[2]!.EventId]]]);
    const [gone, newer] = bench.items();
    expect(gone).toMatchObject({ LastErrorCode: 'route_gone' });
    // Left to whoever knows it: it was not even claimed.
    expect(newer).toMatchObject({ Failures: 0, Attempt: 0 });
    expect(newer!.RunAfter - bench.clock.now()).toBe(5_000);
  });

  test('[EXE-6] an item of an older version is served by the flow of today', async () => {
    const bench = await openBench();
    await bench.admit({ routeVersion: 1 });
    bench.supervise(packOf(() => undefined, { version: 2 })).start();
    await bench.untilStates('completed');
  });
});

describe('input that cannot be had', () => {
  test('an outage is waited out while the lease is safe', async () => {
    const bench = await openBench();
    await bench.admitSources(2);
    bench.steered.failNext('loadEvents', new StoreOutage('no connection', 'none'));
    bench.supervise(packOf(() => undefined)).start();
    await until(() => bench.steered.count('loadEvents') === 1, 'the first load failed');
    await bench.clock.advance(50);
    expect(bench.states()).toEqual(['completed', 'completed']);
  });

  test('[EXE-4] an outage that outlasts the lease gives the items back, at no cost', async () => {
    const bench = await openBench();
    await bench.admitSources(1);
    for (let failure = 0; failure < 40; failure++) {
      bench.steered.failNext('loadEvents', new StoreOutage('no connection', 'none'));
      bench.steered.failNext('renew', new StoreOutage('no connection', 'none'));
    }
    const supervisor = bench.supervise(packOf(() => undefined));
    const finished = record(supervisor.events, 'finished');
    supervisor.start();
    await bench.clock.advance(10_000);
    expect(finished[0]).toMatchObject({ outcome: { kind: 'released' }, state: 'pending' });
    expect(bench.items()[0]!.Failures).toBe(0);
  });

  test('an Event that cannot be read fails its own item only', async () => {
    const bench = await openBench();
    await bench.admitSources(3);
    const [first] = bench.items();
    bench.sql("UPDATE _System_ConnectorReceipt SET Headers = 'not json'");
    const other = await openBench();
    await other.admitSources(1);
    bench.supervise(packOf(() => undefined)).start();
    await until(() => bench.items().every((row) => row.Failures === 1), 'all of the broken receipt fail');
    expect(first!.EventId).toBe(bench.items()[0]!.EventId);
    expect(bench.items()[0]).toMatchObject({ LastErrorCode: 'event_unreadable' });
  });

  test('an Event that is not there ends its item with a record', async () => {
    const bench = await openBench();
    await bench.admitSources(1);
    const supervisor = bench.supervise(packOf(() => undefined));
    supervisor.events.on('claimed', () => bench.sql('DELETE FROM _System_ConnectorEvent'));
    supervisor.start();
    await bench.untilStates('dead');
    expect(bench.items()[0]).toMatchObject({ LastErrorCode: 'event_missing' });
  });
});
