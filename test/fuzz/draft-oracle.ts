import { idMaker } from '../../src/core/ids.js';
import { systemClock, systemRandom } from '../../src/core/system.js';
import { QUEUE_CLASSES } from '../../src/core/work.js';
import { definePack } from '../../src/packs/define-pack.js';
import { draftReceipt } from '../../src/packs/draft-receipt.js';
import { loadedToFlowEvent } from '../../src/packs/flow-event.js';
import { verifyRequest } from '../../src/packs/receipt.js';
import { BrokenJson } from '../../src/packs/safe-json.js';
import type { MaterializeOutput } from '../../src/packs/types.js';
import { openSqliteDriver } from '../../src/store/dialects/sqlite/driver.js';
import { createSqlStore } from '../../src/store/sql-store.js';
import type { EventDraft, InstalledPack, ReceiptDraft, Store } from '../../src/store/store.js';
import { request, trusting } from '../packs/request-parts.js';
import type { DrawnMaterialize } from './odd-outputs.js';

function demand(holds: boolean, message: string): asserts holds {
  if (!holds) throw new Error(message);
}

/** A store in memory that takes what the drafts say, and gives it to flows. */
export class DraftBench {
  readonly #store: Store;
  readonly #installed: InstalledPack;
  readonly #newId = idMaker(systemClock, systemRandom());
  #receipts = 0;

  private constructor(store: Store, installed: InstalledPack) {
    this.#store = store;
    this.#installed = installed;
  }

  static async start(): Promise<DraftBench> {
    const clock = systemClock;
    const driver = openSqliteDriver({ path: ':memory:', clock, unsafeDurability: true });
    const store = createSqlStore({ driver, clock, random: systemRandom() });
    await store.migrate();
    const [installed] = await store.installPacks([
      { namespace: 'acme', pack: 'connector', version: '1.0.0' },
    ]);
    return new DraftBench(store, installed!);
  }

  close(): Promise<void> {
    return this.#store.close();
  }

  /** @returns what to count. */
  async judge(drawn: DrawnMaterialize): Promise<string> {
    const draft = this.#draft(drawn);
    judgeDraft(draft, drawn);
    const { packId, namespace } = this.#installed;
    const results = await this.#store.materialize({ packId, namespace, receipts: [draft] });
    demand(!('refused' in results) && results.length === 1, 'the store refused a draft');
    const quarantined = draft.quarantine !== null;
    demand(results[0]!.quarantined === quarantined, 'the store lost a quarantine');
    const receipt = await this.#store.loadReceipt(draft.receiptId);
    if (!results[0]!.duplicate) demand(receipt !== null, 'a draft was stored without its receipt');
    await this.#readEvents(draft);
    return draft.quarantine?.code ?? `drafts with ${draft.events.length > 0 ? 'Events' : 'no Event'}`;
  }

  #draft({ kind, value }: DrawnMaterialize): ReceiptDraft {
    const materialize = (): MaterializeOutput => {
      if (kind === 'throws') throw value.make();
      return value.make() as MaterializeOutput;
    };
    const route = { version: 1, verify: trusting, materialize, flow() {} };
    const pack = definePack({ name: 'connector', version: '1.0.0', routes: { events: route } });
    const body = JSON.stringify({ n: ++this.#receipts });
    const verified = verifyRequest(trusting, request({ body }));
    demand(verified.kind === 'verified', 'a scheme that trusts everybody refused');
    return draftReceipt({ route: pack.routes.get('events')!, receipt: verified.receipt, newId: this.#newId });
  }

  async #readEvents({ events }: ReceiptDraft): Promise<void> {
    for (const loaded of await this.#store.loadEvents(events.map(({ eventId }) => eventId))) {
      // A duplicate or one that was known is another's Event.
      if (loaded === null) continue;
      const event = loadedToFlowEvent('acme', loaded);
      JSON.stringify([event.companion, event.headers]);
      try {
        event.json();
      } catch (error) {
        demand(error instanceof BrokenJson, `json() of a flow threw ${String(error)}`);
      }
    }
  }
}

function judgeDraft({ quarantine, events, body }: ReceiptDraft, { value, kind }: DrawnMaterialize): void {
  demand(body.length > 0, 'the body is gone');
  if (quarantine === null) {
    demand(kind === 'returns', 'what was thrown was taken for an output');
    for (const event of events) judgeEvent(event);
    return;
  }
  const { code, message } = quarantine;
  demand(value.isOdd || kind === 'throws', `what is in order was quarantined: ${message}`);
  demand(events.length === 0, 'a quarantined receipt has Events');
  demand(typeof message === 'string' && message.length <= 2_000, 'the message is no text, or too long');
  demand(!message.includes('READ TOO OFTEN'), 'a length was believed');
  if (code === 'materialize_invalid')
    demand(/^(output|deliveries)[[\].\w]*: /.test(message), `no field: ${message}`);
  else demand(code === 'materialize_failed', `code ${code}`);
}

function judgeEvent(event: EventDraft): void {
  const texts = [event.type, event.sourceKey, event.deliveryKey];
  demand(texts.every(isKey), `keys ${JSON.stringify(texts)}`);
  demand(QUEUE_CLASSES.includes(event.queueClass), `class ${event.queueClass}`);
  demand(Number.isSafeInteger(event.ordinal), `ordinal ${event.ordinal}`);
  const { runAfter, payload, companion } = event;
  demand(runAfter === null || (Number.isSafeInteger(runAfter) && runAfter >= 0), `runAfter ${runAfter}`);
  demand(payload === null || payload instanceof Uint8Array, 'payload');
  if (companion !== null) JSON.parse(companion);
  demand(event.idempotencyKey.length === 32 && event.contentHash.length === 32, 'digests');
}

/** Not empty, bounded, and the same after a way through UTF-8. */
const isKey = (text: unknown): boolean =>
  typeof text === 'string' &&
  text.trim() !== '' &&
  Buffer.byteLength(text) <= 512 &&
  Buffer.from(text).toString() === text;
