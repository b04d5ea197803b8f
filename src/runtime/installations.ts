import type { Cancel, Clock } from '../core/clock.js';
import { type ResolvedRoute, routesOf } from '../ingress/route-table.js';
import type { Pack } from '../packs/types.js';
import type { InstalledPack, Store } from '../store/store.js';

const REFRESH_MS = 2_000;

/** Takes a new incarnation of a pack into service; told of each one once. */
export type OnIncarnation = (pack: Pack, installed: InstalledPack) => void;

/**
 * What this process serves: its packs in its namespaces, as installed. They are read again two seconds after each
 * reading, so that a pack paused by another process is refused here before any work is done on a request, and an
 * incarnation that a newer version raised is drained here too: what is admitted now carries it, whoever admits.
 */
export class Installations {
  readonly #store: Pick<Store, 'installPacks' | 'listPacks'>;
  readonly #packs: readonly Pack[];
  readonly #namespaces: readonly string[];
  readonly #clock: Clock;
  #installed: readonly InstalledPack[] = [];
  #resolve: ReturnType<typeof routesOf> = () => null;
  #cancel: Cancel | null = null;
  #closed = false;

  constructor(
    store: Pick<Store, 'installPacks' | 'listPacks'>,
    packs: readonly Pack[],
    namespaces: readonly string[],
    clock: Clock,
  ) {
    this.#store = store;
    this.#packs = packs;
    this.#namespaces = namespaces;
    this.#clock = clock;
  }

  /** Resolves secrets once for each namespace, so that a missing one refuses to start; then installs. */
  async install(): Promise<void> {
    const wanted = this.#namespaces.flatMap((namespace) => this.#packs.map((pack) => ({ namespace, pack })));
    for (const { namespace, pack } of wanted) {
      for (const route of pack.routes.values()) {
        route.verify.prepare({ namespace, pack: pack.name, route: route.name });
      }
    }
    this.#use(
      await this.#store.installPacks(
        wanted.map(({ namespace, pack }) => ({ namespace, pack: pack.name, version: pack.version })),
      ),
    );
  }

  /** Reads them again from now on, and tells of every incarnation raised since `install`. Does not reject. */
  follow(onIncarnation: OnIncarnation): void {
    if (this.#closed) return;
    this.#cancel = this.#clock.after(REFRESH_MS, () => {
      void this.#refresh(onIncarnation).then(() => this.follow(onIncarnation));
    });
  }

  readonly resolve = (namespace: string, pack: string, route: string): ResolvedRoute | null =>
    this.#resolve(namespace, pack, route);

  /** Each installation with the pack that this process runs for it. */
  served(): { readonly pack: Pack; readonly installed: InstalledPack }[] {
    return this.#installed.map((installed) => ({
      pack: this.#packs.find((pack) => pack.name === installed.pack)!,
      installed,
    }));
  }

  close(): void {
    this.#closed = true;
    this.#cancel?.();
  }

  #use(installed: readonly InstalledPack[]): void {
    this.#installed = installed;
    this.#resolve = routesOf(this.#packs, installed);
  }

  async #refresh(onIncarnation: OnIncarnation): Promise<void> {
    let packs: readonly InstalledPack[];
    try {
      packs = await this.#store.listPacks();
    } catch {
      return; // An outage shows in /readyz and in every answer; what was known last stands until it is over.
    }
    if (this.#closed) return;
    const now = new Map(packs.map((pack) => [pack.packId, pack]));
    const known = new Map(this.#installed.map((mine) => [mine.packId, mine.generation]));
    this.#use(this.#installed.map((mine) => now.get(mine.packId) ?? mine));
    for (const { pack, installed } of this.served()) {
      if (installed.generation !== known.get(installed.packId)) onIncarnation(pack, installed);
    }
  }
}
