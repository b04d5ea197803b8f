/**
 * What this process serves: packs in namespaces, as they are installed.
 *
 *   nothing ──use()──▶ serving ──use(), refresh()──▶ serving ──close()──▶ closed
 *                         └─ each change: workers first, then routes; one at a time
 *
 * Installations are read again two seconds after each reading, so that a pack paused by another process is refused here
 * before any work is done on a request, and an incarnation that a newer version raised is drained here too. A reading
 * that fails changes nothing: an outage shows in `/readyz` and in every answer, and what was known last stands.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Cancel, Clock } from '../core/clock.js';
import { isLaneheadError, LaneheadError } from '../core/errors.js';
import { compareVersions } from '../core/versions.js';
import { type ResolvedRoute, type ResolveRoute, routesOf, type ServedPack } from '../ingress/route-table.js';
import type { Pack } from '../packs/types.js';
import type { Store } from '../store/store.js';
import type { LaneheadOptions } from './options.js';

const REFRESH_MS = 2_000;

/** What runs the work of this process. */
export interface Workers {
  /** False: some of them are not there, or no longer run; a reconcile would build them anew. */
  readonly isSound: boolean;
  /** Makes them those of what is served; resolves when they are. */
  reconcile(served: readonly ServedPack[]): Promise<void>;
}

/** Of a process that runs no work. */
const NO_WORKERS: Workers = { isSound: true, reconcile: async () => undefined };

export interface PackChoice {
  readonly packs: readonly Pack[];
  /** Default: those of the choice before. */
  readonly namespaces?: readonly string[] | undefined;
}

export class Installations {
  readonly #store: Pick<Store, 'installPacks' | 'listPacks'>;
  readonly #clock: Clock;
  readonly #onBehind: (served: ServedPack) => void;
  #namespaces: readonly string[] = [];
  #served: readonly ServedPack[] = [];
  #resolve: ResolveRoute = () => null;
  #workers = NO_WORKERS;
  #changing: Promise<unknown> = Promise.resolve();
  #cancel: Cancel = () => undefined;
  #closed = false;

  /** @param onBehind told of a pack that is older than what is installed: it is served, and gives back what it does not know */
  constructor(
    store: Pick<Store, 'installPacks' | 'listPacks'>,
    clock: Clock,
    onBehind: (served: ServedPack) => void = () => undefined,
  ) {
    this.#store = store;
    this.#clock = clock;
    this.#onBehind = onBehind;
  }

  /** Each installation with the pack that this process runs for it. */
  get served(): readonly ServedPack[] {
    return this.#served;
  }

  readonly resolve: ResolveRoute = (namespace, pack, route): ResolvedRoute | null =>
    this.#resolve(namespace, pack, route);

  /**
   * Serves these packs in these namespaces, and no others. What is absent is installed; a newer version becomes a new
   * incarnation. When it rejects, this process serves what it served before; where the store failed in between, some
   * of the packs may be installed already, and a repetition goes on from there.
   * @throws LaneheadError `invalid_configuration` naming every secret that is missing, `draining` after `close`
   */
  use({ packs, namespaces: given }: PackChoice): Promise<void> {
    return this.#oneAtATime(async () => {
      // Not before it is this one's turn: a choice on its way may change them.
      const namespaces = given ?? this.#namespaces;
      const wanted = scopesOf(packs, namespaces);
      requireSecrets({ packs, namespaces });
      const installed = await this.#store.installPacks(
        wanted.map(({ namespace, pack }) => ({ namespace, pack: pack.name, version: pack.version })),
      );
      const served = wanted.map(({ pack }, place) => ({ pack, installed: installed[place]! }));
      await this.#serve(served);
      this.#namespaces = namespaces;
      for (const one of served)
        if (compareVersions(one.pack.version, one.installed.version) < 0) this.#onBehind(one);
    });
  }

  /**
   * Reads the installations again, now. Where they say what they said, sound workers are left alone: it comes too often
   * to cost them a look each time.
   * @throws whatever the store throws; then nothing is changed
   */
  refresh(): Promise<void> {
    return this.#oneAtATime(async () => {
      const now = new Map((await this.#store.listPacks()).map((pack) => [pack.packId, pack]));
      const served = this.#served.map(({ pack, installed }) => {
        return { pack, installed: now.get(installed.packId) ?? installed };
      });
      const isAsBefore = served.every(({ installed }, place) =>
        isDeepStrictEqual(installed, this.#served[place]!.installed),
      );
      if (!isAsBefore || !this.#workers.isSound) await this.#serve(served);
    });
  }

  /**
   * From now on installations are read again and again. Does not reject.
   * @param workers follow what is served; `null`: there are none
   */
  follow(workers: Workers | null): void {
    this.#workers = workers ?? NO_WORKERS;
    this.#plan();
  }

  /** Nothing is read or changed any more; what is being changed is given up at its next step. */
  close(): void {
    this.#closed = true;
    this.#cancel();
  }

  #plan(): void {
    if (this.#closed) return;
    this.#cancel = this.#clock.after(REFRESH_MS, () => {
      void this.refresh()
        .catch(() => undefined)
        .then(() => this.#plan());
    });
  }

  #oneAtATime(change: () => Promise<void>): Promise<void> {
    const changed = this.#changing.then(() => {
      this.#requireOpen();
      return change();
    });
    this.#changing = changed.catch(() => undefined);
    return changed;
  }

  /**
   * Workers first: whoever still runs the pack of before must not claim what the routes of the new one admit. It would
   * not know them.
   */
  async #serve(served: readonly ServedPack[]): Promise<void> {
    this.#requireOpen();
    await this.#workers.reconcile(served);
    this.#served = served;
    this.#resolve = routesOf(served);
  }

  #requireOpen(): void {
    if (this.#closed) throw new LaneheadError('draining', 'it is being stopped');
  }
}

const scopesOf = (packs: readonly Pack[], namespaces: readonly string[]) =>
  namespaces.flatMap((namespace) => packs.map((pack) => ({ namespace, pack })));

/** Resolves every secret once for each namespace, so that one that is missing changes nothing. */
export function requireSecrets({ packs, namespaces }: Pick<LaneheadOptions, 'packs' | 'namespaces'>): void {
  const problems: string[] = [];
  for (const { namespace, pack } of scopesOf(packs, namespaces)) {
    for (const route of pack.routes.values()) {
      try {
        route.verify.prepare({ namespace, pack: pack.name, route: route.name });
      } catch (error) {
        if (!isLaneheadError(error, 'invalid_configuration')) throw error;
        problems.push(error.message);
      }
    }
  }
  if (problems.length > 0) throw new LaneheadError('invalid_configuration', problems.join('; '));
}
