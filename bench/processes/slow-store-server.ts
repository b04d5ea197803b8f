/** The ingress of the product over its SQLite in the store thread, with every commit made longer. */
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { idMaker } from '../../src/core/ids.js';
import { systemClock, systemRandom } from '../../src/core/system.js';
import { routesOf } from '../../src/ingress/route-table.js';
import { createIngress, type Ingress } from '../../src/ingress/server.js';
import { openServingStore, type ServingStore } from '../../src/runtime/open-store.js';
import { DecisionCounts } from '../../test/support/decision-counts.js';
import { answerParent } from '../child.js';
import { githubPack, NAMESPACE } from '../github-pack.js';

export interface SlowStore {
  readonly databaseUrl: string;
  /** From asking for a commit to its end, at least. */
  readonly commitMs: number;
}

/** Commits since the last question. */
export interface Commits {
  readonly count: number;
  /** Of all of them. */
  readonly elapsedMs: number;
}

let commits: Commits = { count: 0, elapsedMs: 0 };
const counts = new DecisionCounts();
let opened: ServingStore | null = null;
let ingress: Ingress | null = null;

async function listen({ databaseUrl, commitMs }: SlowStore): Promise<number> {
  opened = await openServingStore({
    databaseUrl,
    unsafeDurability: false,
    poolSize: 4,
    admissionPoolSize: 4,
  });
  const { store } = opened;
  await store.migrate();
  const pack = githubPack(() => undefined);
  const installed = await store.installPacks([
    { namespace: NAMESPACE, pack: pack.name, version: pack.version },
  ]);
  const random = systemRandom();
  ingress = createIngress({
    store: {
      materialize: async (request) => {
        const since = performance.now();
        const [outcome] = await Promise.all([store.materialize(request), sleep(commitMs)]);
        commits = {
          count: commits.count + 1,
          elapsedMs: commits.elapsedMs + performance.now() - since,
        };
        return outcome;
      },
    },
    resolve: routesOf(installed.map((one) => ({ pack, installed: one }))),
    clock: systemClock,
    random,
    newId: idMaker(systemClock, random),
    log: pino({ level: 'silent' }),
    checks: {},
    onCommitted: () => undefined,
    onDecision: counts.observe,
  });
  return Number(new URL((await ingress.listen({ host: '127.0.0.1', port: 0 })).url).port);
}

function takeCommits(): Commits {
  const taken = commits;
  commits = { count: 0, elapsedMs: 0 };
  return taken;
}

answerParent({ listen, takeCommits, counts: () => counts }, async () => {
  await ingress?.close({ timeoutMs: 5_000 });
  await opened?.close();
});
