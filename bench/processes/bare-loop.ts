/**
 * The bare store loop: claim a batch, load its Events, finalize it, and again. One thread, no scheduler, no executor,
 * no leases to renew: what the store alone can do, so the most a drain over it could.
 */
import { newLeaseToken } from '../../src/core/ids.js';
import { systemRandom } from '../../src/core/system.js';
import { openStore } from '../../src/runtime/open-store.js';
import type { Store } from '../../src/store/store.js';
import { answerParent } from '../child.js';
import type { DrainOrder, DrainResult } from './drain-protocol.js';
import { OrderLedger } from './order-ledger.js';

/** Where its rate no longer rises: as many as one statement of the store takes. */
const BATCH = 256;

const random = systemRandom();

async function drain({ databaseUrl, items, lanes }: DrainOrder): Promise<DrainResult> {
  const store = await openStore({ databaseUrl, unsafeDurability: false, poolSize: 2 });
  try {
    const { packId, generation } = (await store.listPacks())[0]!;
    const ledger = new OrderLedger(lanes);
    const startedAt = performance.now();
    while (ledger.started < items) await turn(store, { packId, generation }, ledger);
    return {
      elapsedMs: performance.now() - startedAt,
      violations: ledger.violations,
      turnsMs: ledger.turnsMs,
    };
  } finally {
    await store.close();
  }
}

async function turn(
  store: Store,
  pack: { readonly packId: number; readonly generation: number },
  ledger: OrderLedger,
): Promise<void> {
  const { items } = await store.claim({
    ...pack,
    claimWorkTypes: [],
    queueClasses: [],
    preference: [],
    maxClaims: BATCH,
    leaseMs: 30_000,
    processingBudget: 2 * BATCH,
    mode: 'any',
    token: newLeaseToken(random),
    holder: 'bare loop',
  });
  if (items.length === 0) throw new Error(`nothing to claim after ${ledger.started} items`);
  for (const event of await store.loadEvents(items.map((item) => item.eventId)))
    ledger.start(event!.deliveryKey);
  await store.finalize(items.map(({ lease }) => ({ lease, outcome: { kind: 'completed' } })));
}

answerParent({ drain });
