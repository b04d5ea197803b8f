/**
 * One executor slot.
 *
 *   waiting ──item──▶ executing ──done──▶ waiting
 *      │                  └──exception──▶ containing ──▶ resting ──▶ waiting      (SUP-6)
 *      └──null (the scheduler stops)──▶ ended
 */
import type { Clock } from '../core/clock.js';
import type { Random } from '../core/random.js';
import { type RetryPolicy, retryDelayMs } from '../core/retry.js';
import type { CentralClaimScheduler } from '../scheduler/central-claim-scheduler.js';
import type { ExecutorSlot } from '../scheduler/shapes.js';

export interface SlotParts<Work> {
  readonly scheduler: Pick<CentralClaimScheduler<Work>, 'claimNext'>;
  readonly execute: (work: Work) => Promise<void>;
  /** Ends the item of an execution that threw. */
  readonly contain: (work: Work, thrown: unknown) => Promise<void>;
  readonly onCrash: (thrown: unknown, restartInMs: number) => void;
  readonly clock: Clock;
  readonly random: Random;
  /** Cuts the rest after a crash short. */
  readonly stopped: AbortSignal;
}

const RESTART: RetryPolicy = { attempts: Number.POSITIVE_INFINITY, baseMs: 100, maxMs: 30_000 };

/** Runs until the scheduler has no more to give; never rejects. */
export async function runSlot<Work>(slot: ExecutorSlot, parts: SlotParts<Work>): Promise<void> {
  let crashes = 0;
  for (;;) {
    const work = await parts.scheduler.claimNext(slot);
    if (work === null) return;
    try {
      await parts.execute(work);
      crashes = 0;
    } catch (thrown) {
      crashes++;
      await recover(work, thrown, crashes, parts);
    }
  }
}

async function recover<Work>(
  work: Work,
  thrown: unknown,
  crashes: number,
  parts: SlotParts<Work>,
): Promise<void> {
  const restartInMs = retryDelayMs(RESTART, crashes, parts.random);
  parts.onCrash(thrown, restartInMs);
  try {
    await parts.contain(work, thrown);
  } catch (again) {
    // The item's lease runs out, and whoever reclaims it counts the failure.
    parts.onCrash(again, restartInMs);
  }
  await parts.clock.sleep(restartInMs, parts.stopped);
}
