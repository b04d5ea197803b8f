/** The whole product as it admits: HTTP, verification, materialization and the durable commit. Its drain is off. */
import { createLanehead, type Lanehead } from '../../src/index.js';
import { answerParent } from '../child.js';
import { githubPack, NAMESPACE } from '../github-pack.js';

export interface ProductOrder {
  readonly databaseUrl: string;
  readonly metrics: boolean;
}

let lanehead: Lanehead | null = null;

answerParent(
  {
    listen: async ({ databaseUrl, metrics }: ProductOrder) => {
      lanehead = createLanehead({
        packs: [githubPack(() => undefined)],
        namespaces: [NAMESPACE],
        databaseUrl,
        role: 'ingress',
        ...(metrics && { admin: { port: 0 } }),
        listen: { port: 0 },
      });
      return Number(new URL((await lanehead.start()).url!).port);
    },
  },
  () => lanehead?.stop(),
);
