import { describe, expect, test } from 'vitest';
import type { ServedPack } from '../../src/ingress/route-table.js';
import { PackDirectory } from '../../src/metrics/pack-names.js';
import type { Pack } from '../../src/packs/types.js';

/** Only its names are looked at. */
function served(packId: number, namespace: string, routes: readonly string[]): ServedPack {
  const pack = { name: 'code', version: '1.0.0', routes: new Map(routes.map((route) => [route, {}])) };
  const installed = {
    packId,
    namespace,
    pack: 'code',
    version: '1.0.0',
    generation: 1,
    status: 'active',
  } as const;
  return { pack: pack as unknown as Pack, installed };
}

describe('the names of packs', () => {
  test('each pack and each route is told once, those of a later definition too', () => {
    let now = [served(1, 'acme', ['push'])];
    const directory = new PackDirectory(() => now);
    const told: string[] = [];
    directory.onNew(({ namespace, pack }, routes) => told.push(`${namespace}/${pack}: ${routes.join(' ')}`));
    expect(told.splice(0)).toEqual(['acme/code: push']);
    directory.served();
    expect(told.splice(0)).toEqual([]);
    now = [served(1, 'acme', ['push', 'issues']), served(2, 'globex', ['push'])];
    expect(directory.of(2)).toEqual({ namespace: 'globex', pack: 'code' });
    expect(told.splice(0)).toEqual(['acme/code: issues', 'globex/code: push']);
  });

  test('outlive their pack, and one that was never served has none', () => {
    let now = [served(1, 'acme', ['push'])];
    const directory = new PackDirectory(() => now);
    now = [];
    expect(directory.of(1)).toEqual({ namespace: 'acme', pack: 'code' });
    expect(directory.of(9)).toEqual({ namespace: '', pack: '' });
  });
});
