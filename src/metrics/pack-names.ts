import type { InstalledPack } from '../store/store.js';

export interface PackNames {
  readonly namespace: string;
  readonly pack: string;
}

const UNKNOWN: PackNames = { namespace: '', pack: '' };

/** Names for the number of a pack, which keeps them for ever; each is looked up once. */
export class PackDirectory {
  readonly #installed: () => readonly InstalledPack[];
  readonly #names = new Map<number, PackNames>();
  readonly #listeners: ((names: PackNames) => void)[] = [];

  /** @param installed the packs that are served now */
  constructor(installed: () => readonly InstalledPack[]) {
    this.#installed = installed;
    this.served();
  }

  of(packId: number): PackNames {
    const known = this.#names.get(packId);
    if (known !== undefined) return known;
    this.served();
    return this.#names.get(packId) ?? UNKNOWN;
  }

  /** Numbers of the packs that are served now. */
  served(): readonly number[] {
    const installed = this.#installed();
    for (const { packId, namespace, pack } of installed) {
      if (this.#names.has(packId)) continue;
      this.#names.set(packId, { namespace, pack });
      for (const listener of this.#listeners) listener({ namespace, pack });
    }
    return installed.map(({ packId }) => packId);
  }

  /** Told once of each pack: of those that are known at once, of others before their first name is given. */
  onPack(listener: (names: PackNames) => void): void {
    this.#listeners.push(listener);
    for (const names of this.#names.values()) listener(names);
  }
}
