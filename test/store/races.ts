import { expect } from 'vitest';
import type {
  ClaimedItem,
  ClaimRequest,
  ClaimResult,
  EventDraft,
  FinalizeResult,
  InstalledPack,
  MaterializeResult,
  ReceiptDraft,
  Store,
} from '../../src/store/store.js';
import type { OpenedStore } from '../conformance/engine.js';
import { claimRequest } from '../conformance/fixture.js';
import { draftReceipt, type ReceiptSketch } from '../support/drafts.js';

/* Races that were found on paper; the invariant of each is what must hold after every one of its interleavings. */

export interface Scene {
  readonly pack: InstalledPack;
  readonly items: readonly ClaimedItem[];
  readonly receipts: readonly ReceiptDraft[];
  /** The same pack in another namespace. */
  readonly other: InstalledPack;
}

export interface Scenario {
  readonly title: string;
  /** Rows before the race. */
  readonly scene: (at: OpenedStore, pack: InstalledPack) => Promise<Partial<Scene>>;
  readonly A: (store: Store, scene: Scene) => Promise<unknown>;
  readonly B: (store: Store, scene: Scene) => Promise<unknown>;
  readonly holds: (at: OpenedStore, scene: Scene, results: { A: unknown; B: unknown }) => Promise<void>;
}

async function admit(store: Store, pack: InstalledPack, ...sketches: ReceiptSketch[]) {
  const receipts = sketches.map((sketch) => draftReceipt(pack, sketch));
  return await materialize(store, pack, receipts);
}

async function materialize(store: Store, pack: InstalledPack, receipts: readonly ReceiptDraft[]) {
  const { packId, namespace } = pack;
  return (await store.materialize({ packId, namespace, receipts })) as readonly MaterializeResult[];
}

const oneAtATime = ({ pack }: InstalledPack): Partial<ClaimRequest> => ({
  limits: { packName: pack, pack: { rate: null, concurrency: 1 }, namespace: null, source: null },
});

const claimAll = async (store: Store, pack: InstalledPack) => (await store.claim(claimRequest(pack))).items;
const complete = (store: Store, items: readonly ClaimedItem[]) =>
  store.finalize(items.map((item) => ({ lease: item.lease, outcome: { kind: 'completed' } })));

interface Row {
  readonly State: string;
  readonly Readiness: number;
  readonly LeaseToken: string | null;
  readonly Active: number;
}

const rowsOf = (at: OpenedStore, pack: InstalledPack) =>
  at.sql<Row>(
    `SELECT State, Readiness, LeaseToken, ProjectionActiveKey IS NOT NULL AS Active
     FROM _System_ConnectorWorkItem WHERE PackId = ? ORDER BY LaneOrdinal`,
    [pack.packId],
  );

const itemsOf = (...results: unknown[]) => results.flatMap((result) => (result as ClaimResult).items);
const lostOf = (result: unknown) => (result as FinalizeResult[]).map((entry) => entry.lost);
const expire = (at: OpenedStore, pack: InstalledPack) =>
  at.sql(`UPDATE _System_ConnectorWorkItem SET LeaseUntil = 1 WHERE PackId = ? AND State = 'processing'`, [
    pack.packId,
  ]);

export const SCENARIOS: readonly Scenario[] = [
  {
    title:
      '[OWN-1] [EVO-10] two claimers of one lane: exactly one gets its head, and the Event moves with it',
    async scene(at, pack) {
      await admit(at.store, pack, { events: [{ source: 'a' }, { source: 'a' }] });
      return {};
    },
    A: (store, { pack }) => store.claim(claimRequest(pack)),
    B: (store, { pack }) => store.claim(claimRequest(pack)),
    async holds(at, { pack }, { A, B }) {
      expect(itemsOf(A, B)).toHaveLength(1);
      const rows = await rowsOf(at, pack);
      expect(rows.map((row) => row.State)).toEqual(['processing', 'pending']);
      expect(rows[0]!.LeaseToken).toBe(itemsOf(A, B)[0]!.lease.token);
      const owners = await at.sql(
        'SELECT ExecutionOwner FROM _System_ConnectorEvent WHERE PackId = ? ORDER BY ExecutionOwner',
        [pack.packId],
      );
      expect(owners).toEqual([{ ExecutionOwner: 'event' }, { ExecutionOwner: 'work_item' }]);
    },
  },
  {
    title: '[DRN-1] [DRN-2] two claimers of two lanes under a budget of one: one row in processing',
    async scene(at, pack) {
      await admit(at.store, pack, { events: [{ source: 'a' }, { source: 'b' }] });
      return {};
    },
    A: (store, { pack }) => store.claim(claimRequest(pack, { processingBudget: 1 })),
    B: (store, { pack }) => store.claim(claimRequest(pack, { processingBudget: 1 })),
    async holds(at, { pack }, { A, B }) {
      expect(itemsOf(A, B)).toHaveLength(1);
      expect((await rowsOf(at, pack)).filter((row) => row.State === 'processing')).toHaveLength(1);
    },
  },
  {
    title: '[LIM-1] claimers of two namespaces of a pack that runs one item at a time: one row in processing',
    async scene(at, pack) {
      const name = `limited-${pack.packId}`;
      const [here, other] = (await at.store.installPacks(
        ['here', 'there'].map((namespace) => ({ namespace, pack: name, version: '1.0.0' })),
      )) as [InstalledPack, InstalledPack];
      for (const installed of [here, other]) await admit(at.store, installed, { events: [{ source: 'a' }] });
      return { pack: here, other };
    },
    A: (store, { pack }) => store.claim(claimRequest(pack, oneAtATime(pack))),
    B: (store, { pack, other }) => store.claim(claimRequest(other, oneAtATime(pack))),
    async holds(_at, _scene, { A, B }) {
      expect(itemsOf(A, B)).toHaveLength(1);
    },
  },
  {
    title: '[OWN-2] insert meets finalize: the successor is never left without its mark',
    scene: async (at, pack) => {
      await admit(at.store, pack, { events: [{ source: 'a' }] });
      const items = await claimAll(at.store, pack);
      return { items, receipts: [draftReceipt(pack, { events: [{ source: 'a' }] })] };
    },
    A: (store, { items }) => complete(store, items),
    B: (store, { pack, receipts }) => materialize(store, pack, receipts),
    async holds(at, { pack }) {
      expect((await rowsOf(at, pack)).map((row) => [row.State, row.Readiness])).toEqual([
        ['completed', 0],
        ['pending', 2],
      ]);
    },
  },
  {
    title: '[OWN-2] the last blockers of one item end in two lanes at once: it is marked',
    scene: async (at, pack) => {
      await admit(
        at.store,
        pack,
        { events: [{ source: 'a' }] },
        { events: [{ source: 'b', target: 't' }] },
        { events: [{ source: 'a', target: 't' }] },
      );
      return { items: await claimAll(at.store, pack) };
    },
    A: (store, { items }) => complete(store, items.slice(0, 1)),
    B: (store, { items }) => complete(store, items.slice(1)),
    async holds(at, { pack }) {
      expect((await rowsOf(at, pack)).map((row) => row.Readiness)).toEqual([0, 0, 2]);
    },
  },
  {
    title:
      '[OWN-2] a claim clears a false mark while the end of its blocker sets it: it stays set, or is claimed',
    scene: async (at, pack) => {
      await admit(at.store, pack, { events: [{ source: 'a' }] }, { events: [{ source: 'a' }] });
      const items = await claimAll(at.store, pack);
      await at.sql('UPDATE _System_ConnectorWorkItem SET Readiness = 2 WHERE PackId = ?', [pack.packId]);
      return { items };
    },
    A: (store, { items }) => complete(store, items),
    B: (store, { pack }) => store.claim(claimRequest(pack)),
    async holds(at, { pack }, { B }) {
      const [, second] = await rowsOf(at, pack);
      if (itemsOf(B).length === 1) expect(second).toMatchObject({ State: 'processing' });
      else expect(second).toMatchObject({ State: 'pending', Readiness: 2 });
    },
  },
  {
    title: '[PRJ-3] enqueue meets the end of a generation: one is active, nothing waits for nobody',
    scene: async (at, pack) => {
      await admit(at.store, pack, { events: [{ source: 's', projection: 'p' }] });
      const items = await claimAll(at.store, pack);
      return { items, receipts: [draftReceipt(pack, { events: [{ source: 's', projection: 'p' }] })] };
    },
    A: (store, { items }) => complete(store, items),
    B: (store, { pack, receipts }) => materialize(store, pack, receipts),
    async holds(at, { pack }) {
      expect((await rowsOf(at, pack)).map((row) => [row.State, row.Active, row.Readiness])).toEqual([
        ['completed', 0, 0],
        ['pending', 1, 2],
      ]);
    },
  },
  {
    title:
      '[PRJ-2] [PRJ-3] a queued generation is replaced while it is being activated: the newest runs last',
    scene: async (at, pack) => {
      await admit(at.store, pack, { events: [{ source: 's', projection: 'p' }] });
      const items = await claimAll(at.store, pack);
      await admit(at.store, pack, { events: [{ source: 's', projection: 'p' }] });
      return { items, receipts: [draftReceipt(pack, { events: [{ source: 's', projection: 'p' }] })] };
    },
    A: (store, { items }) => complete(store, items),
    B: (store, { pack, receipts }) => materialize(store, pack, receipts),
    async holds(at, { pack }) {
      const rows = await rowsOf(at, pack);
      const tail = rows.slice(1).map((row) => [row.State, row.Active]);
      // Replaced before it was activated, or activated first and followed by the newer one.
      expect([
        [
          ['coalesced', 0],
          ['pending', 1],
        ],
        [
          ['pending', 1],
          ['pending', 0],
        ],
      ]).toContainEqual(tail);
    },
  },
  {
    title:
      '[OWN-2] a claim meets the activation of an older generation in the same delivery: one of them runs',
    scene: async (at, pack) => {
      await admit(at.store, pack, { delivery: 'd0', events: [{ source: 's', projection: 'p' }] });
      const items = await claimAll(at.store, pack);
      await admit(at.store, pack, {
        ordering: 'strict',
        delivery: 'd1',
        events: [{ source: 's', projection: 'p' }, { source: 'other' }],
      });
      return { items };
    },
    async A(store, { pack, items }) {
      await complete(store, items);
      return await store.claim(claimRequest(pack));
    },
    B: (store, { pack }) => store.claim(claimRequest(pack)),
    async holds(at, { pack }, { A, B }) {
      expect(itemsOf(A, B)).toHaveLength(1);
      expect((await rowsOf(at, pack)).filter((row) => row.State === 'processing')).toHaveLength(1);
    },
  },
  ...(['completed', 'released'] as const).map(
    (kind): Scenario => ({
      title: `[OWN-2] a generation is activated behind a younger item that is ${kind} meanwhile: it is marked`,
      scene: async (at, pack) => {
        await admit(at.store, pack, { delivery: 'd0', events: [{ source: 's', projection: 'p' }] });
        const active = await claimAll(at.store, pack);
        const events = [{ source: 's', projection: 'p' }, { source: 'other' }];
        await admit(at.store, pack, { ordering: 'strict', delivery: 'd1', events });
        return { items: [...active, ...(await claimAll(at.store, pack))] };
      },
      A: (store, { items }) => complete(store, items.slice(0, 1)),
      B: (store, { items }) =>
        store.finalize([{ lease: items[1]!.lease, outcome: { kind, reason: 'told to' } }]),
      async holds(at, { pack }) {
        const [, activated] = await rowsOf(at, pack);
        expect(activated).toMatchObject({ State: 'pending', Active: 1, Readiness: 2 });
      },
    }),
  ),
  {
    title:
      '[OWN-2] an Event of history is repaired while the younger item that runs is given back: it is marked',
    async scene(at, pack) {
      await admit(at.store, pack, { events: [{ source: 'a' }] });
      const receipts = [draftReceipt(pack, { events: [{ source: 'a', payload: 'old' }] })];
      const [{ eventId, idempotencyKey, payload }] = receipts[0]!.events as [EventDraft];
      await at.sql(
        `INSERT INTO _System_ConnectorEvent (EventId, PackId, EventType, SourceKey, DeliveryKey, Route,
         IdempotencyKey, ReceivedDate, CreatedDate, Payload) VALUES (?, ?, 'push', 'a', 'd', 'events', ?, 1, 1, ?)`,
        [eventId, pack.packId, idempotencyKey, payload],
      );
      return { items: await claimAll(at.store, pack), receipts };
    },
    A: (store, { pack, receipts }) => materialize(store, pack, receipts),
    B: (store, { items }) =>
      store.finalize([{ lease: items[0]!.lease, outcome: { kind: 'released', reason: 'told to' } }]),
    async holds(at, { pack }) {
      const [repaired, younger] = await rowsOf(at, pack);
      expect(repaired).toMatchObject({ State: 'pending', Readiness: 2 });
      expect(younger).toMatchObject({ State: 'pending' });
    },
  },
  {
    title: '[OWN-5] a late finish meets the takeover of its lease: exactly one of them counts',
    scene: async (at, pack) => {
      await admit(at.store, pack, { events: [{ source: 'a' }] });
      const items = await claimAll(at.store, pack);
      await expire(at, pack);
      return { items };
    },
    A: (store, { items }) => complete(store, items),
    B: (store, { pack }) => store.claim(claimRequest(pack)),
    async holds(at, { pack }, { A, B }) {
      const [row] = await rowsOf(at, pack);
      const [lost] = lostOf(A);
      expect(itemsOf(B)).toHaveLength(lost ? 1 : 0);
      expect(row!.State).toBe(lost ? 'processing' : 'completed');
    },
  },
  {
    title: '[OWN-5] a renewal meets the takeover of its lease: one holder',
    scene: async (at, pack) => {
      await admit(at.store, pack, { events: [{ source: 'a' }] });
      const items = await claimAll(at.store, pack);
      await expire(at, pack);
      return { items };
    },
    A: (store, { items }) =>
      store.renew(
        items.map((item) => item.lease),
        60_000,
      ),
    B: (store, { pack }) => store.claim(claimRequest(pack)),
    async holds(_at, _scene, { A, B }) {
      const renewed = (A as Awaited<ReturnType<Store['renew']>>).renewed.length;
      expect(renewed + itemsOf(B).length).toBe(1);
    },
  },
  {
    title: '[MAT-5] the same delivery twice at once: one Event, and both are answered with one receipt',
    scene: async (_at, pack) => ({
      receipts: ['x', 'y'].map((other) =>
        draftReceipt(pack, {
          delivery: `d-${other}`,
          events: [{ key: 'same', payload: 'p' }, { key: other }],
        }),
      ),
    }),
    A: (store, { pack, receipts }) => materialize(store, pack, [receipts[0]!]),
    B: (store, { pack, receipts }) => materialize(store, pack, [receipts[1]!]),
    async holds(at, { pack }, { A, B }) {
      const results = [A, B].flatMap((result) => result as MaterializeResult[]);
      expect(results.map((result) => [result.duplicate, result.conflict])).toEqual([
        [false, false],
        [false, false],
      ]);
      const [counted] = await at.sql<{ n: number }>(
        'SELECT COUNT(*) AS n FROM _System_ConnectorEvent WHERE PackId = ?',
        [pack.packId],
      );
      expect(counted!.n).toBe(3);
      expect(await rowsOf(at, pack)).toHaveLength(3);
    },
  },
];
