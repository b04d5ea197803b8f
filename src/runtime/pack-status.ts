import { LaneheadError } from '../core/errors.js';
import type { InstalledPack, Store } from '../store/store.js';

export interface PackStatusChange {
  readonly pack: string;
  readonly status: 'active' | 'paused';
  /** Default: wherever it is installed. */
  readonly namespaces?: readonly string[] | undefined;
}

/**
 * Pauses a pack or takes it into service again; all that is meant is checked before the first is changed.
 * @throws LaneheadError `not_found` where it is not installed, `invalid_argument` where it is retired
 */
export async function changePackStatus(
  store: Pick<Store, 'listPacks' | 'setPackStatus'>,
  { pack, status, namespaces }: PackStatusChange,
): Promise<readonly InstalledPack[]> {
  const chosen = choose(await store.listPacks(), pack, namespaces);
  const changed: InstalledPack[] = [];
  for (const { packId } of chosen) changed.push(await store.setPackStatus(packId, status));
  return changed;
}

function choose(
  installed: readonly InstalledPack[],
  name: string,
  namespaces: readonly string[] | undefined,
): readonly InstalledPack[] {
  const named = installed.filter((one) => one.pack === name);
  const wanted = namespaces ?? named.map((one) => one.namespace);
  const chosen = named.filter((one) => wanted.includes(one.namespace));
  const missing = wanted.filter((namespace) => !chosen.some((one) => one.namespace === namespace));
  if (missing.length > 0 || chosen.length === 0) {
    const where = missing.length > 0 ? ` in ${missing.join(', ')}` : '';
    throw new LaneheadError('not_found', `no pack ${name} is installed${where}`, {
      action: 'See lanehead packs list for the names.',
    });
  }
  const retired = chosen.find((one) => one.status === 'retired');
  if (retired !== undefined) {
    throw new LaneheadError('invalid_argument', `${retired.namespace}/${name} is retired, for good`);
  }
  return chosen;
}
