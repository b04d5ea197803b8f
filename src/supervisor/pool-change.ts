import type { PoolPlan } from './pool-plan.js';

/** Why a pool takes no more work, for people. @param wanted what is planned in its place; absent: nothing */
export function whyItLeaves(plan: PoolPlan, wanted: PoolPlan | undefined): string {
  if (wanted === undefined) return 'removed';
  const [before, now] = [plan.installed, wanted.installed];
  if (now.status !== 'active') return now.status;
  if (now.version !== before.version) return `upgraded from ${before.version} to ${now.version}`;
  if (now.generation !== before.generation) return 'reinstalled';
  if (wanted.pack !== plan.pack) return 'defined anew';
  return 'rebuilt';
}

/** Why a pool opens. @param before why there was none, or the one before it left; absent: it is the first */
export function whyItOpens(before: string | undefined): string {
  if (before === undefined) return 'new';
  if (before === 'paused') return 'resumed';
  return before === 'removed' ? 'added again' : before;
}
