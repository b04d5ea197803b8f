import type { Pack, Route } from '../packs/types.js';
import type { InstalledPack } from '../store/store.js';

/** An installation, and the pack that this process runs for it. */
export interface ServedPack {
  readonly pack: Pack;
  readonly installed: InstalledPack;
}

export interface ResolvedRoute extends ServedPack {
  readonly route: Route;
}

/** What a URL names, or `null`. Asked for every request: a look-up, never a query. */
export type ResolveRoute = (namespace: string, pack: string, route: string) => ResolvedRoute | null;

/** The look-up over what this process serves. Build a new one when an installation changes. */
export function routesOf(served: Iterable<ServedPack>): ResolveRoute {
  const namespaces = new Map<string, Map<string, ReadonlyMap<string, ResolvedRoute>>>();
  for (const { pack, installed } of served) {
    const routes = new Map(
      [...pack.routes.values()].map((route) => [route.name, { installed, pack, route }]),
    );
    const packsOfNamespace = namespaces.get(installed.namespace) ?? new Map();
    namespaces.set(installed.namespace, packsOfNamespace.set(pack.name, routes));
  }
  return (namespace, pack, route) => namespaces.get(namespace)?.get(pack)?.get(route) ?? null;
}
