import { definePack } from '../../src/packs/define-pack.js';
import { type DraftOptions, draftReceipt } from '../../src/packs/draft-receipt.js';
import type { EventInput, MaterializeOutput, Receipt, Route } from '../../src/packs/types.js';
import type { EventDraft, ReceiptDraft } from '../../src/store/store.js';
import { type RequestInput, trusting } from './request-parts.js';
import { receiptOf } from './requests.js';

export type RouteOptions = { readonly [field: string]: unknown };

export function routeWith(materialize: (receipt: Receipt) => unknown, options: RouteOptions = {}): Route {
  const route = {
    version: 1,
    verify: trusting,
    materialize: materialize as (receipt: Receipt) => MaterializeOutput,
    flow() {},
    ...options,
  };
  return definePack({ name: 'connector', version: '1.0.0', routes: { events: route } }).routes.get('events')!;
}

/** Ids count up, so that a draft can be compared whole. */
export function counting() {
  let count = 0;
  return (kind: string): string => `${kind}_${++count}`;
}

export function draft(
  materialize: (receipt: Receipt) => unknown,
  request: RequestInput = {},
  options: RouteOptions & { readonly draft?: Partial<DraftOptions> } = {},
): ReceiptDraft {
  const { draft: more, ...route } = options;
  const receipt = receiptOf({ body: '{"a":1}', ...request });
  return draftReceipt({ route: routeWith(materialize, route), receipt, newId: counting(), ...more });
}

/** The draft of one event of one delivery. */
export function draftOne(
  event: Partial<EventInput>,
  options: RouteOptions = {},
  request: RequestInput = {},
  deliveryKey = 'd1',
): EventDraft {
  const deliveries = [{ key: deliveryKey, events: [{ type: 'push', sourceKey: 'repo', ...event }] }];
  const { events, quarantine } = draft(() => ({ deliveries }), request, options);
  if (quarantine !== null) throw new Error(quarantine.message);
  return events[0]!;
}
