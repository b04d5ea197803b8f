import type { Pack, Route } from '../packs/types.js';
import type { InstalledPack } from '../store/store.js';

export interface ResolvedRoute {
  readonly installed: InstalledPack;
  readonly pack: Pack;
  readonly route: Route;
}

/** What a URL names, or `null`. Asked for every request: a look-up, never a query. */
export type ResolveRoute = (namespace: string, pack: string, route: string) => ResolvedRoute | null;

/** The look-up over what this process serves. Build a new one when an installation changes. */
export function routesOf(packs: Iterable<Pack>, installed: Iterable<InstalledPack>): ResolveRoute {
  const byName = new Map([...packs].map((pack) => [pack.name, pack]));
  const namespaces = new Map<string, Map<string, Map<string, ResolvedRoute>>>();
  for (const installation of installed) {
    const pack = byName.get(installation.pack);
    if (pack === undefined) continue;
    const routes = new Map(
      [...pack.routes.values()].map((route) => [route.name, { installed: installation, pack, route }]),
    );
    const packsOfNamespace = namespaces.get(installation.namespace) ?? new Map();
    namespaces.set(installation.namespace, packsOfNamespace.set(installation.pack, routes));
  }
  return (namespace, pack, route) => namespaces.get(namespace)?.get(pack)?.get(route) ?? null;
}
