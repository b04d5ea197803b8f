import { reading, writing } from '../statement.js';
import { DRAIN, NAMESPACE, PACK } from './tables.js';

/** Row of the pack's authority, as read under its lock. */
export interface PackRow {
  readonly PackId: number;
  readonly Namespace: string;
  readonly Pack: string;
  readonly Version: string;
  readonly Generation: number;
  readonly Status: string;
  readonly NextLaneOrdinal: number;
  readonly NextHistoryOrdinal: number;
  readonly Now: number;
}

const PACK_COLUMNS =
  'PackId, Namespace, Pack, Version, Generation, Status, NextLaneOrdinal, NextHistoryOrdinal';

export const lockNamespace = reading(
  'authority.lockNamespace',
  (d) => `SELECT Namespace FROM ${NAMESPACE} WHERE Namespace = ?${d.forUpdate}`,
);

export const lockPack = reading(
  'authority.lockPack',
  (d) => `SELECT ${PACK_COLUMNS}, ${d.now} AS Now FROM ${PACK} WHERE PackId = ?${d.forUpdate}`,
);

export const selectPackId = reading(
  'authority.selectPackId',
  () => `SELECT PackId FROM ${PACK} WHERE Namespace = ? AND Pack = ?`,
);

export const selectPack = reading(
  'authority.selectPack',
  (d) => `SELECT ${PACK_COLUMNS}, ${d.now} AS Now FROM ${PACK} WHERE PackId = ?`,
);

export const selectPacks = reading(
  'authority.selectPacks',
  (d) => `SELECT ${PACK_COLUMNS}, ${d.now} AS Now FROM ${PACK} ORDER BY Namespace, Pack`,
);

export const insertNamespace = writing(
  'authority.insertNamespace',
  (d) => `INSERT INTO ${NAMESPACE} (Namespace, CreatedDate) VALUES (?, ${d.now})`,
);

export const insertPack = writing(
  'authority.insertPack',
  (d) => `INSERT INTO ${PACK}
    (Namespace, Pack, Version, NextLaneOrdinal, CreatedDate, UpdatedDate)
    VALUES (?, ?, ?, ?, ${d.now}, ${d.now})`,
);

export const insertDrain = writing('authority.insertDrain', () => `INSERT INTO ${DRAIN} (PackId) VALUES (?)`);

/** A reinstall: the new version is a new incarnation. */
export const raiseGeneration = writing(
  'authority.raiseGeneration',
  (d) =>
    `UPDATE ${PACK} SET Version = ?, Generation = Generation + 1, UpdatedDate = ${d.now} WHERE PackId = ?`,
);

export const updatePackStatus = writing(
  'authority.updatePackStatus',
  (d) => `UPDATE ${PACK} SET Status = ?, UpdatedDate = ${d.now} WHERE PackId = ?`,
);

export const advanceOrdinals = writing(
  'authority.advanceOrdinals',
  () => `UPDATE ${PACK} SET NextLaneOrdinal = ?, NextHistoryOrdinal = ? WHERE PackId = ?`,
);

/** Serializes the claimers of a pack across processes (DRN-2); never held together with an authority row. */
export const lockDrain = reading(
  'authority.lockDrain',
  (d) => `SELECT PackId FROM ${DRAIN} WHERE PackId = ?${d.forUpdate}`,
);
