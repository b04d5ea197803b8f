import type { Clock, NextTurn } from '../core/clock.js';
import type { Foreground } from '../core/foreground.js';
import type { Random } from '../core/random.js';
import type { ClaimedItem, ClaimLimits, Runnable, WorkItemService } from '../store/store.js';
import type { ClaimLimiter } from './claim-limiter.js';
import type { LimitTurns } from './limit-turns.js';
import type { PollLimits } from './scan-pacing.js';
import type { WorkEvents } from './work-events.js';

export interface ClaimSchedulerOptions<Work> {
  /** Without `reclaimStale` a scan that may only take over expired leases does nothing (PRS-3). */
  readonly service: Pick<WorkItemService, 'peek' | 'claim'> & Partial<Pick<WorkItemService, 'reclaimStale'>>;
  readonly limiter: Pick<ClaimLimiter, 'decide'>;
  readonly foreground: Pick<Foreground, 'turn'>;
  readonly packId: number;
  readonly generation: number;
  readonly processingBudget: number;
  /** What the pack declares for its flows. */
  readonly limits: ClaimLimits | null;
  /** What its flows can run; default: everything. */
  readonly runnable?: Runnable | null;
  /** With the schedulers of other namespaces under a limit of the pack; default: there are none. */
  readonly turns?: LimitTurns | null;
  readonly leaseMs: number;
  readonly poll: PollLimits;
  /** Who claims, for people. */
  readonly holder: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly nextTurn: NextTurn;
  readonly events: WorkEvents;
  /**
   * Makes a claim's items executable, in order, before any slot has one. `sentAt`: monotonic time at which the
   * claim was sent, from which its leases count.
   */
  readonly accept: (items: readonly ClaimedItem[], sentAt: number) => readonly Work[];
  /** Gives items back that no slot can take; costs no attempt of their budget. */
  readonly release: (items: readonly ClaimedItem[]) => Promise<void>;
}
