import fc from 'fast-check';
import { afterAll, beforeAll, test } from 'vitest';
import { fuzzOptions } from '../../support/fuzz-options.js';
import { ModelBench } from './model-bench.js';
import { scripts } from './model-commands.js';
import type { ModelEngine } from './model-engine.js';
import { QueueModel } from './queue-model.js';

/** Scripts of commands, on a real store and on the model of one; after each command they look the same. */
export function testVerbs(open: () => Promise<ModelEngine>, runs: number): void {
  let engine: ModelEngine;
  beforeAll(async () => {
    engine = await open();
  });
  afterAll(() => engine.close());

  test('[OWN-1] [OWN-2] [OWN-5] [PRJ-1] [PRJ-2] [PRJ-3] [EXE-4] [LEG-7] [DRN-1] do what an array of items would do', async () => {
    const { seed, runs: numRuns } = fuzzOptions(runs);
    const property = fc.asyncProperty(scripts, async (script) => {
      const real = await ModelBench.start(engine);
      await fc.asyncModelRun(() => ({ model: new QueueModel(), real }), script);
    });
    await fc.assert(property, { seed, numRuns });
  }, 3_600_000);
}
