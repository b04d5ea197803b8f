import type { ServedPack } from '../ingress/route-table.js';
import type { InstalledPack } from '../store/store.js';

export interface PackNames {
  readonly namespace: string;
  readonly pack: string;
}

const UNKNOWN: PackNames = { namespace: '', pack: '' };

/** Told of a pack with the routes that are new in it. */
type Listener = (names: PackNames, routes: readonly string[]) => void;

/** Names for the number of a pack, which keeps them for ever; each is looked up once. */
export class PackDirectory {
  readonly #served: () => readonly ServedPack[];
  readonly #known = new Map<number, { readonly names: PackNames; readonly routes: Set<string> }>();
  readonly #listeners: Listener[] = [];

  /** @param served what is served now */
  constructor(served: () => readonly ServedPack[]) {
    this.#served = served;
    this.served();
  }

  of(packId: number): PackNames {
    if (!this.#known.has(packId)) this.served();
    return this.#known.get(packId)?.names ?? UNKNOWN;
  }

  /** The packs that are served now. */
  served(): readonly InstalledPack[] {
    const served = this.#served();
    for (const one of served) this.#meet(one);
    return served.map(({ installed }) => installed);
  }

  /** Told of those that are known at once; of a pack or a route that comes later before its first name is given. */
  onNew(listener: Listener): void {
    this.#listeners.push(listener);
    for (const { names, routes } of this.#known.values()) listener(names, [...routes]);
  }

  #meet({ pack, installed }: ServedPack): void {
    const { packId, namespace } = installed;
    const known = this.#known.get(packId);
    const fresh = [...pack.routes.keys()].filter((route) => !known?.routes.has(route));
    if (known !== undefined && fresh.length === 0) return;
    const names = known?.names ?? { namespace, pack: installed.pack };
    this.#known.set(packId, { names, routes: new Set([...(known?.routes ?? []), ...fresh]) });
    for (const listener of this.#listeners) listener(names, fresh);
  }
}
