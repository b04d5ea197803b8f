import { expect, test } from 'vitest';
import { definePack } from '../../src/packs/define-pack.js';
import { signatures } from '../../src/packs/signatures.js';
import { until } from '../support/manual-clock.js';
import { gate, record, useBench } from '../support/work-bench.js';

const openBench = useBench();

test('[LIM-1] the limits of a pack bound its flows, whatever slots there are', async () => {
  const bench = await openBench();
  await bench.admitSources(6);
  const hold = gate();
  const pack = definePack({
    name: 'bench',
    version: '1.0.0',
    limits: { namespace: { concurrency: 2 } },
    routes: {
      events: {
        version: 1,
        verify: signatures.github({ secret: 'a secret of the test' }),
        materialize: () => ({ deliveries: [] }),
        flow: () => hold.opened,
      },
    },
  });
  const supervisor = bench.supervise(pack, {
    settings: { workersPerPack: 4, queueProfile: 'default-heavy' },
  });
  const started = record(supervisor.events, 'started');
  supervisor.start();
  await until(() => started.length === 2, 'two run');
  for (let second = 0; second < 3; second++) await bench.clock.advance(1_000);
  expect(started).toHaveLength(2);
  hold.open();
  await until(() => bench.states().every((state) => state === 'completed'), 'all run');
});
