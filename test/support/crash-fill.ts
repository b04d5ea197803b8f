import type { QueueClass } from '../../src/core/work.js';
import { openStore } from '../../src/runtime/open-store.js';
import type { InstalledPack, ReceiptDraft } from '../../src/store/store.js';
import type { CrashDatabase } from './crash-database.js';
import type { Behaviour } from './crash-process.js';
import { draftReceipt } from './drafts.js';
import type { SentItem } from './history.js';

export interface FillOptions {
  readonly items: number;
  /** Items go round them, so that all lanes are as long. */
  readonly lanes: number;
  /** In turn; default: `default`. */
  readonly queueClasses?: readonly QueueClass[];
  /** What the flows of the first items do; the others do nothing. */
  readonly behaviours?: readonly Behaviour[];
}

const EVENTS_PER_RECEIPT = 100;
const RECEIPTS_PER_COMMIT = 10;
/** No number of kills makes an item dead. */
const BUDGET = 1_000;

/** Puts items into a database that no process serves yet, as admission would, without the HTTP in between. */
export async function fill(database: CrashDatabase, options: FillOptions): Promise<readonly SentItem[]> {
  const store = await openStore({ databaseUrl: database.url, unsafeDurability: false, poolSize: 1 });
  try {
    const [pack] = await store.installPacks([{ namespace: 'acme', pack: 'crash', version: '1.0.0' }]);
    const { packId, namespace } = pack!;
    const items = sketches(options);
    const deliveries = chunks(items, EVENTS_PER_RECEIPT);
    for (const group of chunks(deliveries, RECEIPTS_PER_COMMIT)) {
      const receipts = group.map((members) => drafted(pack!, members, options));
      const results = await store.materialize({ packId, namespace, receipts });
      if ('refused' in results) throw new Error(`refused: ${results.refused}`);
      for (const [at, { receiptId }] of results.entries()) {
        for (const item of group[at]!) item.receipts.push(receiptId);
      }
    }
    return items;
  } finally {
    await store.close();
  }
}

interface Sketch extends SentItem {
  readonly place: number;
  readonly delivery: string;
  readonly receipts: string[];
}

function drafted(pack: InstalledPack, members: readonly Sketch[], options: FillOptions): ReceiptDraft {
  const events = members.map(({ lane, sequence, place }) => {
    const behaviour = options.behaviours?.[place];
    const payload = JSON.stringify({ source: lane, sequence, behaviour });
    const classes = options.queueClasses ?? ['default'];
    const queueClass = classes[place % classes.length]!;
    return { source: lane, payload, queueClass, budget: BUDGET };
  });
  return draftReceipt(pack, { delivery: members[0]!.delivery, events });
}

function sketches({ items, lanes }: FillOptions): readonly Sketch[] {
  return Array.from({ length: items }, (_, place): Sketch => {
    const delivery = `fill-${Math.floor(place / EVENTS_PER_RECEIPT)}`;
    return {
      place,
      delivery,
      item: `${delivery}/${place % EVENTS_PER_RECEIPT}`,
      lane: `source${place % lanes}`,
      sequence: Math.floor(place / lanes),
      receipts: [],
    };
  });
}

function chunks<T>(list: readonly T[], size: number): readonly T[][] {
  return Array.from({ length: Math.ceil(list.length / size) }, (_, n) =>
    list.slice(n * size, (n + 1) * size),
  );
}
