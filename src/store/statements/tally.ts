import { writing } from '../statement.js';
import { TALLY } from './tables.js';

/** Parameters: by, pack, class, state, slot. */
export const addToTally = writing(
  'tally.add',
  () =>
    `UPDATE ${TALLY} SET Total = Total + ? WHERE PackId = ? AND QueueClass = ? AND State = ? AND Slot = ?`,
);

/** Parameters: pack, class, state, slot, total. */
export const insertTally = writing(
  'tally.insert',
  () => `INSERT INTO ${TALLY} (PackId, QueueClass, State, Slot, Total) VALUES (?, ?, ?, ?, ?)`,
);
