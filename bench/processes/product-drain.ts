/** The whole product as it drains: scheduler, executors, leases and finalizer over the threaded or pooled store. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createLanehead, type Lanehead } from '../../src/index.js';
import { answerParent } from '../child.js';
import { githubPack, NAMESPACE } from '../github-pack.js';
import type { DrainOrder, DrainResult } from './drain-protocol.js';
import { OrderLedger } from './order-ledger.js';

const LOOK_EVERY_MS = 5;
const NO_PROGRESS_MS = 30_000;

let lanehead: Lanehead | null = null;

async function drain({
  databaseUrl,
  items,
  lanes,
  workers,
  order,
  metrics,
}: DrainOrder): Promise<DrainResult> {
  const ledger = new OrderLedger(lanes, order);
  lanehead = createLanehead({
    packs: [githubPack((event) => ledger.start(event.deliveryKey))],
    namespaces: [NAMESPACE],
    databaseUrl,
    role: 'worker',
    ...(metrics && { admin: { port: 0 } }),
    drain: { workersPerPack: workers, maxProcessingRows: 2 * workers },
  });
  await lanehead.start();
  const startedAt = performance.now();
  await untilStarted(ledger, items);
  // The last outcomes are durable when the statistics say so.
  while ((await completed(lanehead)) < items) await sleep(LOOK_EVERY_MS);
  return { elapsedMs: performance.now() - startedAt, violations: ledger.violations, turnsMs: ledger.turnsMs };
}

async function untilStarted(ledger: OrderLedger, items: number): Promise<void> {
  let seen = 0;
  let progressAt = performance.now();
  while (ledger.started < items) {
    await sleep(LOOK_EVERY_MS);
    const now = performance.now();
    if (ledger.started > seen) progressAt = now;
    seen = ledger.started;
    if (now - progressAt > NO_PROGRESS_MS) throw new Error(`the drain stands still at ${seen} of ${items}`);
  }
}

async function completed(running: Lanehead): Promise<number> {
  const { packs } = await running.stats();
  return packs
    .flatMap((pack) => Object.values(pack.classes))
    .reduce((sum, counts) => sum + counts.completed, 0);
}

answerParent({ drain }, () => lanehead?.stop());
