import { expect, test } from 'vitest';
import { type Rematerialized, rematerialize } from '../../src/cli/rematerialize.js';
import { definePack } from '../../src/packs/define-pack.js';
import type { MaterializeOutput, Receipt } from '../../src/packs/types.js';
import { newId } from '../support/drafts.js';
import { deliver, pushRoute, startIngress } from './ingress-fixture.js';

/** Events are named by headers, as GitHub and Shopify do. */
const byHeader = (receipt: Receipt): MaterializeOutput => ({
  deliveries: [
    {
      key: receipt.header('x-github-delivery')!,
      events: [{ type: receipt.header('x-github-event')!, sourceKey: 'repo' }],
    },
  ],
});

const packWith = (materialize: (receipt: Receipt) => MaterializeOutput) =>
  definePack({ name: 'code', version: '1.0.0', routes: { push: { ...pushRoute, materialize } } });

const broken = packWith(() => {
  throw new Error('a bug of this release');
});

test('[ADM-1] two quarantined deliveries of equal bytes are two receipts, and a fix gives both their events', async () => {
  const { url, store } = await startIngress({ pack: broken });
  for (const key of ['d-1', 'd-2']) {
    const response = await deliver(url, { key, headers: { 'x-github-event': `star ${key}` } });
    expect([response.status, await response.json()]).toEqual([
      202,
      expect.objectContaining({ duplicate: false }),
    ]);
  }
  const { items } = await store.listReceipts({ status: 'quarantined', limit: 10 });
  expect(items).toHaveLength(2);
  for (const { id } of items) await rematerialize(store, [packWith(byHeader)], id, newId);
  const events = (await store.listEvents({ limit: 10 })).items;
  expect(events.map((event) => event.type)).toEqual(['star d-1', 'star d-2']);
});

test('[ADM-1] a redelivery that is quarantined as well comes to the same event after the fix', async () => {
  const { url, store } = await startIngress({ pack: broken });
  const delivery = { key: 'd-1', headers: { 'x-github-event': 'star' } };
  for (const _ of [1, 2]) expect((await deliver(url, delivery)).status).toBe(202);
  const { items } = await store.listReceipts({ status: 'quarantined', limit: 10 });
  const results: Rematerialized[] = [];
  for (const { id } of items) results.push(await rematerialize(store, [packWith(byHeader)], id, newId));
  expect(results.map(({ status, duplicate }) => [status, duplicate])).toEqual([
    ['materialized', false],
    ['materialized', true],
  ]);
  expect((await store.listReceipts({ status: 'quarantined', limit: 10 })).items).toEqual([]);
  expect((await store.listEvents({ limit: 10 })).items).toHaveLength(1);
});

test('[ADM-1] a request without events hides no quarantined one of equal bytes, and no other target or header', async () => {
  const pinging = packWith((receipt) => {
    if (receipt.header('x-github-event') !== 'ping') throw new Error('a bug of this release');
    return { deliveries: [] };
  });
  const { url, store } = await startIngress({ pack: pinging });
  const send = async (event: string, query = '') => {
    const path = `/in/acme/code/push${query}`;
    return (await deliver(url, { path, headers: { 'x-github-event': event } })).status;
  };
  expect(await send('ping')).toBe(202);
  expect(await send('ping')).toBe(200);
  expect(await send('ping', '?hook=2')).toBe(202);
  expect(await send('star')).toBe(202);
  expect((await store.listReceipts({ status: 'quarantined', limit: 10 })).items).toHaveLength(1);
});
