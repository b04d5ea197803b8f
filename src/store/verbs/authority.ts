import { LaneheadError } from '../../core/errors.js';
import { compareVersions } from '../../core/versions.js';
import { DuplicateKey } from '../driver.js';
import { FIRST_LANE_ORDINAL } from '../migrations/index.js';
import { type Plan, read, write } from '../plan.js';
import * as sql from '../statements/authority.js';
import type { InstalledPack, PackInstallation, PackStatus } from '../store.js';

export function toInstalledPack(row: sql.PackRow): InstalledPack {
  return {
    packId: row.PackId,
    namespace: row.Namespace,
    pack: row.Pack,
    version: row.Version,
    generation: row.Generation,
    status: row.Status as PackStatus,
  };
}

/** Creates what is absent. A newer version of a pack is a new incarnation; an older binary leaves it alone. */
export function* installPack(installation: PackInstallation): Plan<InstalledPack> {
  const { namespace, pack, version } = installation;
  yield* ignoreDuplicate(write(sql.insertNamespace, [namespace]));
  yield* read(sql.lockNamespace, [namespace]);
  yield* ignoreDuplicate(write(sql.insertPack, [namespace, pack, version, FIRST_LANE_ORDINAL]));
  const [found] = yield* read<{ PackId: number }>(sql.selectPackId, [namespace, pack]);
  if (found === undefined)
    throw new LaneheadError('not_found', `pack ${namespace}/${pack} vanished while installing`);
  yield* ignoreDuplicate(write(sql.insertDrain, [found.PackId]));
  const [locked] = yield* read<sql.PackRow>(sql.lockPack, [found.PackId]);
  if (compareVersions(version, locked!.Version) > 0)
    yield* write(sql.raiseGeneration, [version, found.PackId]);
  const [row] = yield* read<sql.PackRow>(sql.lockPack, [found.PackId]);
  return toInstalledPack(row!);
}

function* ignoreDuplicate(insert: Plan<number>): Plan<void> {
  try {
    yield* insert;
  } catch (error) {
    if (!(error instanceof DuplicateKey)) throw error;
  }
}

export function* listPacks(): Plan<InstalledPack[]> {
  return (yield* read<sql.PackRow>(sql.selectPacks)).map(toInstalledPack);
}

export function* setPackStatus(packId: number, status: PackStatus): Plan<InstalledPack> {
  const changed = yield* write(sql.updatePackStatus, [status, packId]);
  if (changed === 0) throw new LaneheadError('not_found', `no installed pack has id ${packId}`);
  const [row] = yield* read<sql.PackRow>(sql.lockPack, [packId]);
  return toInstalledPack(row!);
}

export function* resolveActiveGeneration(packId: number): Plan<number | null> {
  const [row] = yield* read<sql.PackRow>(sql.selectPack, [packId]);
  return row?.Status === 'active' ? row.Generation : null;
}
