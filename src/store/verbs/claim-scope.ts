import { INBOUND_WORK_TYPES, QUEUE_CLASSES, type QueueClass, type WorkType } from '../../core/work.js';
import type { ClaimScope } from '../store.js';

/** SVC-3: an empty scope means both inbound types, never all; an unknown type is an error. */
export function normalizedTypes(scope: Pick<ClaimScope, 'claimWorkTypes'>): readonly WorkType[] {
  for (const workType of scope.claimWorkTypes) {
    if (!INBOUND_WORK_TYPES.includes(workType))
      throw new RangeError(`unknown work type ${JSON.stringify(workType)}`);
  }
  if (scope.claimWorkTypes.length === 0) return INBOUND_WORK_TYPES;
  return INBOUND_WORK_TYPES.filter((workType) => scope.claimWorkTypes.includes(workType));
}

/** QCL-1: an empty filter lets every class through. */
export const eligibleClasses = ({ queueClasses }: Pick<ClaimScope, 'queueClasses'>): readonly QueueClass[] =>
  queueClasses.length > 0 ? queueClasses : QUEUE_CLASSES;

/** The same for a statement, which takes three. */
export function threeClasses(scope: Pick<ClaimScope, 'queueClasses'>): readonly QueueClass[] {
  const eligible = eligibleClasses(scope);
  return QUEUE_CLASSES.map((_, place) => eligible[Math.min(place, eligible.length - 1)]!);
}
