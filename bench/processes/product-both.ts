/** The whole product as it admits and drains, with flows that sleep. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createLanehead, type Lanehead } from '../../src/index.js';
import { answerParent } from '../child.js';
import { githubPack, NAMESPACE } from '../github-pack.js';

export interface Both {
  readonly databaseUrl: string;
  /** Executor slots, and the processing budget; 0: nothing is drained. */
  readonly workers: number;
  readonly flowMs: number;
}

let lanehead: Lanehead | null = null;
let started = 0;

answerParent(
  {
    listen: async ({ databaseUrl, workers, flowMs }: Both) => {
      lanehead = createLanehead({
        packs: [
          githubPack(async () => {
            started++;
            await sleep(flowMs);
          }),
        ],
        namespaces: [NAMESPACE],
        databaseUrl,
        role: workers === 0 ? 'ingress' : 'all',
        listen: { port: 0 },
        ...(workers === 0 ? {} : { drain: { workersPerPack: workers, maxProcessingRows: workers } }),
      });
      return Number(new URL((await lanehead.start()).url!).port);
    },
    started: () => started,
  },
  () => lanehead?.stop(),
);
