/**
 * Which moves of two participants can meet in InnoDB, judged by the tables they name. A plain read sees what is
 * committed and stops for nobody, so it meets nothing but the COMMIT that publishes what it reads. Statements that
 * lock meet each other, and the COMMIT that lets go of their locks. A statement that may be refused (deadlock) lets
 * go of everything its transaction holds, so from its first meeting on a transaction counts with all its tables.
 */
import type { MysqlStep } from '../../src/store/dialects/mysql/options.js';
import type { Relation } from './interleavings.js';

export interface Move {
  /** Of the participant. */
  readonly name: string;
  /** Of the step. */
  readonly step: string;
  /** Tables whose committed state it reads; `all` where it fixes the snapshot of a transaction. */
  readonly sees: ReadonlySet<string> | 'all';
  /** Tables it locks rows of. */
  readonly locks: ReadonlySet<string>;
  /** Those, and the ones its transaction has locked before. */
  readonly holds: ReadonlySet<string>;
  /** Tables it publishes changes of, or unlocks. */
  readonly releases: ReadonlySet<string>;
}

/** When a transaction's plain reads take their snapshot. */
export type SnapshotTime = 'each statement' | 'first read' | 'begin';

const NONE: ReadonlySet<string> = new Set();

function tablesOf(sql: string): ReadonlySet<string> {
  return new Set([...sql.matchAll(/\b(?:FROM|JOIN|UPDATE|INTO) (\w+)/gi)].map((match) => match[1]!));
}

/** Describes the steps of one participant, one after the other. */
export function describer(name: string, snapshotTime: SnapshotTime): (step: MysqlStep) => Move {
  let inside = false;
  let fixed = false;
  let held: ReadonlySet<string> = NONE;
  const still = { sees: NONE, locks: NONE, holds: NONE, releases: NONE };
  return ({ kind, name: step, sql }) => {
    if (kind === 'begin') {
      inside = true;
      held = NONE;
      fixed = snapshotTime === 'begin';
      return { ...still, name, step, sees: fixed ? 'all' : NONE };
    }
    if (kind === 'commit') {
      inside = false;
      return { ...still, name, step, releases: held };
    }
    const tables = tablesOf(sql);
    if (/^SELECT\b/i.test(sql) && !/\bFOR UPDATE$/i.test(sql)) {
      const sees = !inside || snapshotTime === 'each statement' ? tables : fixed ? NONE : 'all';
      fixed = true;
      return { ...still, name, step, sees };
    }
    if (inside) held = new Set([...held, ...tables]);
    return {
      name,
      step,
      sees: NONE,
      locks: tables,
      holds: inside ? held : tables,
      releases: inside ? NONE : tables,
    };
  };
}

const meet = (some: ReadonlySet<string>, others: ReadonlySet<string>): boolean =>
  [...some].some((table) => others.has(table));

const seesRelease = ({ sees }: Move, { releases }: Move): boolean =>
  sees === 'all' ? releases.size > 0 : meet(sees, releases);

function areDependent(one: Move, other: Move, tablesOf: (move: Move) => ReadonlySet<string>): boolean {
  return (
    seesRelease(one, other) ||
    seesRelease(other, one) ||
    meet(tablesOf(one), tablesOf(other)) ||
    meet(tablesOf(one), other.releases) ||
    meet(one.releases, tablesOf(other))
  );
}

export interface LearningRelation extends Relation<Move> {
  /** Takes note of a move. True: none like it was seen before. */
  learn(move: Move): boolean;
}

/** A relation over the moves seen so far; complete once no run shows a new one. */
export function learningRelation(): LearningRelation {
  const seen = new Map<string, Move>();
  const list = (tables: Move['sees']) => (tables === 'all' ? 'all' : [...tables].sort());
  const keyOf = ({ name, sees, locks, releases }: Move) =>
    JSON.stringify([name, list(sees), list(locks), list(releases)]);
  return {
    learn(move) {
      const key = keyOf(move);
      const isNew = !seen.has(key);
      seen.set(key, move);
      return isNew;
    },
    isLocal: (move) =>
      [...seen.values()].every(
        (other) => other.name === move.name || !areDependent(move, other, ({ locks }) => locks),
      ),
    areIndependent: (one, other) => !areDependent(one, other, ({ holds }) => holds),
  };
}

/** Every order counts, whatever the moves touch. */
export const everyOrder: LearningRelation = {
  learn: () => false,
  isLocal: () => false,
  areIndependent: () => false,
};
