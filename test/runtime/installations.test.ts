import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemRandom } from '../../src/core/system.js';
import type { ServedPack } from '../../src/ingress/route-table.js';
import { definePack } from '../../src/packs/define-pack.js';
import { signatures } from '../../src/packs/signatures.js';
import type { Pack } from '../../src/packs/types.js';
import { Installations } from '../../src/runtime/installations.js';
import { openSqliteStore } from '../../src/store/dialects/sqlite/open.js';
import { type Store, StoreOutage } from '../../src/store/store.js';
import { ManualClock, turns } from '../support/manual-clock.js';

function packOf(name: string, version = '1.0.0', secret: string | undefined = 'a secret'): Pack {
  const route = {
    version: 1,
    verify: signatures.github({ secret: () => secret }),
    materialize: () => ({ deliveries: [] }),
    flow: () => undefined,
  };
  return definePack({ name, version, routes: { first: route, second: route } });
}

const namespaces = ['acme'];
const code = packOf('code');

describe('what a process serves', () => {
  let clock: ManualClock;
  let store: Store;
  let installations: Installations;
  let behind: string[];
  /** Every set that workers were told, and what was routed at that moment. */
  let told: { readonly served: readonly ServedPack[]; readonly routed: Pack | undefined }[];
  beforeEach(async () => {
    clock = new ManualClock();
    store = openSqliteStore({ path: ':memory:', unsafeDurability: true, clock, random: systemRandom() });
    await store.migrate();
    behind = [];
    installations = new Installations(store, clock, ({ pack, installed }) =>
      behind.push(`${pack.version} < ${installed.version}`),
    );
    told = [];
  });
  afterEach(async () => {
    installations.close();
    await store.close();
  });

  const routed = (name = 'code') => installations.resolve('acme', name, 'first');
  let isSound: boolean;
  const follow = () => {
    isSound = true;
    installations.follow({
      get isSound() {
        return isSound;
      },
      reconcile: async (served) => void told.push({ served, routed: routed()?.pack }),
    });
  };

  test('[SCH-2] goes to its workers first, and then to its routes', async () => {
    await installations.use({ packs: [code], namespaces });
    follow();
    const next = packOf('code', '1.0.1');
    await installations.use({ packs: [next], namespaces });
    expect(told).toMatchObject([{ served: [{ pack: next, installed: { generation: 2 } }], routed: code }]);
    expect(routed()?.pack).toBe(next);
    expect(routed()?.installed.generation).toBe(2);
    await installations.use({ packs: [], namespaces });
    expect(told.at(-1)).toMatchObject({ served: [], routed: next });
    expect(routed()).toBeNull();
  });

  test('says when an older version than the installed one is served', async () => {
    await installations.use({ packs: [packOf('code', '2.0.0')], namespaces });
    expect(behind).toEqual([]);
    await installations.use({ packs: [code], namespaces });
    expect(behind).toEqual(['1.0.0 < 2.0.0']);
  });

  test('is all of a choice or nothing: every secret that is missing is named, and nothing is installed', async () => {
    await installations.use({ packs: [code], namespaces });
    follow();
    const packs = [packOf('code', '2.0.0'), packOf('other', '1.0.0', '')];
    await expect(installations.use({ packs, namespaces })).rejects.toMatchObject({
      code: 'invalid_configuration',
      message: expect.stringMatching(/acme, pack other, route first.*acme, pack other, route second/),
    });
    expect(told).toEqual([]);
    expect(routed()?.pack).toBe(code);
    expect(await store.listPacks()).toMatchObject([{ pack: 'code', version: '1.0.0', generation: 1 }]);
  });

  test('[SCH-5] is read again every two seconds; workers are told of it once they, or it, are not as before', async () => {
    await installations.use({ packs: [code], namespaces });
    follow();
    await clock.advance(10_000);
    expect(told).toEqual([]);
    isSound = false;
    await clock.advance(2_000);
    expect(told).toMatchObject([{ served: [{ pack: code }] }]);
    isSound = true;
    await store.installPacks([{ namespace: 'acme', pack: 'code', version: '1.0.1' }]);
    await clock.advance(10_000);
    expect(told.slice(1)).toMatchObject([{ served: [{ pack: code, installed: { generation: 2 } }] }]);
  });

  test('takes one timer; a reading that fails changes nothing', async () => {
    await installations.use({ packs: [code], namespaces });
    follow();
    const { packId } = routed()!.installed;
    await store.setPackStatus(packId, 'paused');
    const { listPacks } = store;
    store.listPacks = () => Promise.reject(new StoreOutage('no connection', 'none'));
    await clock.advance(10_000);
    expect(told).toEqual([]);
    expect(routed()?.installed.status).toBe('active');
    store.listPacks = listPacks;
    await clock.advance(2_000);
    expect(told).toMatchObject([{ served: [{ pack: code, installed: { status: 'paused' } }] }]);
    expect(routed()?.installed.status).toBe('paused');
    expect(clock.pending).toBe(1);
    installations.close();
    expect(clock.pending).toBe(0);
  });

  test('is changed once at a time: a reading from before a choice does not undo it', async () => {
    await installations.use({ packs: [code], namespaces });
    follow();
    let answer: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const { listPacks } = store;
    store.listPacks = async () => {
      const packs = await listPacks();
      await held;
      return packs;
    };
    const reading = installations.refresh();
    const next = packOf('code', '1.0.1');
    const choosing = installations.use({ packs: [next], namespaces });
    await turns();
    answer();
    await Promise.all([reading, choosing]);
    expect(told.map(({ served }) => served[0]!.installed.generation)).toEqual([2]);
    expect(routed()?.installed.generation).toBe(2);
  });

  test('keeps the namespaces of the choice before it, also of one that is on its way', async () => {
    await installations.use({ packs: [code], namespaces });
    const first = installations.use({ packs: [code], namespaces: ['globex'] });
    const second = installations.use({ packs: [packOf('code', '1.0.1')] });
    await Promise.all([first, second]);
    expect(installations.served.map(({ installed }) => installed)).toMatchObject([
      { namespace: 'globex', version: '1.0.1' },
    ]);
  });

  test('serves what it served where the store fails in the middle, and the same choice again goes on from there', async () => {
    await installations.use({ packs: [code], namespaces });
    follow();
    const packs = [packOf('code', '2.0.0'), packOf('other')];
    const { installPacks } = store;
    store.installPacks = async (wanted) => {
      await installPacks(wanted.slice(0, 1));
      throw new StoreOutage('no connection', 'none');
    };
    await expect(installations.use({ packs, namespaces })).rejects.toThrow('no connection');
    expect(routed()?.pack).toBe(code);
    expect(told).toEqual([]);
    store.installPacks = installPacks;
    await installations.use({ packs, namespaces });
    expect(installations.served.map(({ pack, installed }) => [pack.name, installed.generation])).toEqual([
      ['code', 2],
      ['other', 1],
    ]);
  });

  test('does not change any more once it is closed, not even by what is on its way', async () => {
    await installations.use({ packs: [code], namespaces });
    follow();
    const { installPacks } = store;
    store.installPacks = (wanted) => {
      installations.close();
      return installPacks(wanted);
    };
    const choosing = installations.use({ packs: [packOf('code', '1.0.1')], namespaces });
    await expect(choosing).rejects.toMatchObject({ code: 'draining' });
    await expect(installations.refresh()).rejects.toMatchObject({ code: 'draining' });
    expect(told).toEqual([]);
    expect(routed()?.pack).toBe(code);
    expect(clock.pending).toBe(0);
  });
});
