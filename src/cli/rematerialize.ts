import { LaneheadError } from '../core/errors.js';
import type { NewId } from '../core/ids.js';
import type { WorkError } from '../core/outcome.js';
import { draftReceipt } from '../packs/draft-receipt.js';
import { restoreReceipt } from '../packs/receipt.js';
import type { Pack, Route } from '../packs/types.js';
import type { ReceiptDraft, Store, StoredReceipt } from '../store/store.js';

/** What became of one receipt. */
export interface Rematerialized {
  readonly id: string;
  readonly namespace: string;
  readonly pack: string;
  readonly route: string;
  readonly status: 'materialized' | 'quarantined';
  readonly events: number;
  /** Every event of it was known already. */
  readonly duplicate: boolean;
  /** An event of it was known with other bytes, and is stored apart. */
  readonly conflict: boolean;
  /** Why it is still in quarantine. */
  readonly error: WorkError | null;
}

/**
 * Runs `materialize` of today's pack again on a receipt in quarantine, and stores its Events when it succeeds.
 * @throws LaneheadError `not_found`, `invalid_argument`, `paused`, `pack_retired`
 */
export async function rematerialize(
  store: Store,
  packs: readonly Pack[],
  receiptId: string,
  newId: NewId,
): Promise<Rematerialized> {
  const stored = await store.loadReceipt(receiptId);
  if (stored === null) throw new LaneheadError('not_found', `no receipt has the id ${receiptId}`);
  const draft = draftAgain(stored, routeOf(packs, stored), newId);
  const { packId, namespace } = stored;
  const results = await store.rematerialize({ packId, namespace, receipts: [draft] });
  if ('refused' in results) {
    const code = results.refused === 'paused' ? 'paused' : 'pack_retired';
    throw new LaneheadError(code, `pack ${namespace}/${stored.pack} is ${results.refused}`);
  }
  const { events, duplicate, conflict } = results[0]!;
  const status = draft.quarantine === null ? 'materialized' : 'quarantined';
  const { pack, route } = stored;
  return {
    id: receiptId,
    namespace,
    pack,
    route,
    status,
    events,
    duplicate,
    conflict,
    error: draft.quarantine,
  };
}

/** Ids of the receipts of these packs that are in quarantine, in order of arrival. */
export async function quarantined(
  store: Store,
  packs: readonly Pack[],
  namespace: string | undefined,
): Promise<readonly string[]> {
  const found: string[] = [];
  let cursor: string | null = null;
  do {
    const page = await store.listReceipts({
      status: 'quarantined',
      limit: 200,
      ...(namespace === undefined ? {} : { namespace }),
      ...(cursor === null ? {} : { cursor }),
    });
    found.push(
      ...page.items.filter(({ pack }) => packs.some(({ name }) => name === pack)).map(({ id }) => id),
    );
    cursor = page.next;
  } while (cursor !== null);
  return found;
}

/** Verified when it arrived; that cannot be repeated, for its signature's time is over. */
function draftAgain(stored: StoredReceipt, route: Route, newId: NewId): ReceiptDraft {
  const receipt = restoreReceipt(stored);
  return draftReceipt({ route, receipt, newId, receiptId: stored.id });
}

function routeOf(packs: readonly Pack[], stored: StoredReceipt): Route {
  const route = packs.find((pack) => pack.name === stored.pack)?.routes.get(stored.route);
  if (route === undefined) {
    const wanted = `pack ${stored.pack}, route ${stored.route}`;
    throw new LaneheadError('invalid_argument', `receipt ${stored.id} needs ${wanted}; no pack file has it`);
  }
  return route;
}
