/**
 * What the executor slots of a pool are for. A slot's shape says which classes may run there (QCL-1) and which it
 * would rather have (QCL-2): a part of the slots is kept for what is urgent, so that a bulk backlog cannot take them all,
 * and a part for bulk, so that urgent work cannot either (RSV-2, RSV-3, RSV-4).
 *
 *   slots      latency            bulk                               shared
 *   1          one `sole` slot: interactive first, and every fourth item the oldest of any class
 *   2, 3       1                  –                                  the rest
 *   n ≥ 4      ⌊n/4⌋              ⌊n/4⌋                              the rest
 *
 * `reserved` keeps its bulk slots for bulk alone; in `default-heavy` they take bulk first and then anything.
 */
import { QUEUE_CLASSES, type QueueClass, type QueueProfile } from '../core/work.js';

export const SHAPE_NAMES = ['sole', 'latency', 'bulk', 'shared'] as const;

export interface ExecutorShape {
  readonly name: (typeof SHAPE_NAMES)[number];
  /** Eligibility filter of its slots (QCL-1); empty means all classes. */
  readonly queueClasses: readonly QueueClass[];
  /** Soft affinities (QCL-3), one for each claim that brings something, in turn; an empty one is the historical order. */
  readonly preferences: readonly (readonly QueueClass[])[];
}

/** One place where an item can run. */
export interface ExecutorSlot {
  readonly id: number;
  readonly shape: ExecutorShape;
}

const NO_PREFERENCE = [[]] as const;

const SOLE: ExecutorShape = {
  name: 'sole',
  queueClasses: [],
  preferences: [['interactive'], ['interactive'], ['interactive'], []],
};
const LATENCY: ExecutorShape = {
  name: 'latency',
  queueClasses: ['interactive', 'default'],
  preferences: NO_PREFERENCE,
};
const BULK_ONLY: ExecutorShape = { name: 'bulk', queueClasses: ['bulk'], preferences: NO_PREFERENCE };
const BULK_FIRST: ExecutorShape = { name: 'bulk', queueClasses: [], preferences: [['bulk']] };
const SHARED: ExecutorShape = { name: 'shared', queueClasses: [], preferences: NO_PREFERENCE };

/** All there are. */
export const SHAPES: readonly ExecutorShape[] = [SOLE, LATENCY, BULK_ONLY, BULK_FIRST, SHARED];

const BULK: Readonly<Record<QueueProfile, ExecutorShape>> = {
  reserved: BULK_ONLY,
  'default-heavy': BULK_FIRST,
};

/** From here on a quarter is a slot. */
const LEAST_FOR_BULK = 4;

/** @param count slots of the pool, ≥ 1 */
export function executorSlots(profile: QueueProfile, count: number): readonly ExecutorSlot[] {
  const quarter = Math.floor(count / LEAST_FOR_BULK);
  const latency = count === 1 ? 0 : Math.max(1, quarter);
  const shapeOf = (id: number): ExecutorShape => {
    if (count === 1) return SOLE;
    if (id < latency) return LATENCY;
    return id < latency + quarter ? BULK[profile] : SHARED;
  };
  return Array.from({ length: count }, (_, id) => ({ id, shape: shapeOf(id) }));
}

/** QCL-1. */
export function mayRun({ queueClasses }: ExecutorShape, queueClass: QueueClass): boolean {
  return queueClasses.length === 0 || queueClasses.includes(queueClass);
}

/** Whether a slot of shape `wide` may run whatever one of shape `narrow` may. */
export function covers(wide: ExecutorShape, narrow: ExecutorShape): boolean {
  return QUEUE_CLASSES.every((queueClass) => mayRun(wide, queueClass) || !mayRun(narrow, queueClass));
}
