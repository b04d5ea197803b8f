import { isDeepStrictEqual } from 'node:util';
import type { Pack } from '../packs/types.js';
import { executorSlots } from '../scheduler/shapes.js';
import type { InstalledPack } from '../store/store.js';
import type { SupervisorSettings } from './supervisor-settings.js';

/** Settings that a pack may have for itself; the others hold for the whole process. */
export type PoolSettings = Pick<
  SupervisorSettings,
  'workersPerPack' | 'queueProfile' | 'maxProcessingRows' | 'poll' | 'repairEveryMs'
>;

/** Everything a pool is built from. */
export interface PoolPlan {
  readonly pack: Pack;
  readonly installed: InstalledPack;
  readonly settings: SupervisorSettings;
}

/**
 * SCH-9: a pool stays while its plan says the same: pack definition, incarnation, flags and the shapes they give. What
 * is queued, blocked or due is no part of it. A definition is compared by identity, since nobody can compare functions.
 */
export function samePool(one: PoolPlan, other: PoolPlan): boolean {
  return one.pack === other.pack && isDeepStrictEqual(fingerprint(one), fingerprint(other));
}

function fingerprint({ installed, settings }: PoolPlan) {
  const { packId, generation, version } = installed;
  const shapes = executorSlots(settings.queueProfile, settings.workersPerPack);
  return { packId, generation, version, settings, shapes };
}
