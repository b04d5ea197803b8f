import { idMaker } from '../src/core/ids.js';
import { systemClock, systemRandom } from '../src/core/system.js';
import type { QueueClass } from '../src/core/work.js';
import { draftReceipt } from '../src/packs/draft-receipt.js';
import { restoreReceipt } from '../src/packs/receipt.js';
import type { Pack } from '../src/packs/types.js';
import { openStore } from '../src/runtime/open-store.js';
import type { ReceiptDraft } from '../src/store/store.js';
import { githubPack, NAMESPACE } from './github-pack.js';
import { deliveryOf, headersOf, PATH, Pushes, repositoryName } from './pushes.js';

export interface Filling {
  readonly databaseUrl: string;
  readonly items: number;
  readonly lanes: number;
  readonly payloadBytes: number;
  /** Default: `default`. */
  readonly queueClass?: QueueClass;
}

const BATCH = 256;
const newId = idMaker(systemClock, systemRandom());

/** Migrates, installs the pack, and stores `items` pushes round the lanes, in big batches. */
export async function fill(filling: Filling): Promise<void> {
  const { databaseUrl, items, lanes, payloadBytes, queueClass } = filling;
  const store = await openStore({ databaseUrl, unsafeDurability: false, poolSize: 2 });
  try {
    await store.migrate();
    const pack = githubPack(
      () => undefined,
      () => queueClass ?? 'default',
    );
    const [installed] = await store.installPacks([
      { namespace: NAMESPACE, pack: pack.name, version: pack.version },
    ]);
    const { packId, namespace } = installed!;
    const pushes = new Pushes(payloadBytes);
    for (let from = 0; from < items; from += BATCH) {
      const numbers = Array.from({ length: Math.min(BATCH, items - from) }, (_, place) => from + place);
      const receipts = numbers.map((number) => draft(pack, pushes, number, lanes));
      const result = await store.materialize({ packId, namespace, receipts });
      if ('refused' in result) throw new Error(`the pack is ${result.refused}`);
    }
  } finally {
    await store.close();
  }
}

function draft(pack: Pack, pushes: Pushes, number: number, lanes: number): ReceiptDraft {
  const body = pushes.body(number, repositoryName(number % lanes));
  const receipt = restoreReceipt({
    namespace: NAMESPACE,
    pack: pack.name,
    route: 'events',
    method: 'POST',
    target: PATH,
    headers: headersOf(body, deliveryOf(number)),
    body,
    receivedAt: Date.now(),
    verification: 'github',
  });
  return draftReceipt({ route: pack.routes.get('events')!, receipt, newId });
}
