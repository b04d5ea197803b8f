/** What senders, flows and the processes' own calls say, kept outside of everything that can fail. */
import type { Outcome } from '../../src/core/outcome.js';
import type { Lease } from '../../src/core/work.js';
import type { ClaimRequest, WorkRequest } from '../../src/store/store.js';
import { type Run, type RunRecord, runKey, type Transition } from '../support/history.js';
import type { Thread } from './world.js';

/** One run of a flow. `how`: how its call ended, and `null` while it goes on. */
export interface FlowRun {
  readonly item: string;
  readonly epoch: number;
  readonly process: string;
  readonly signal: AbortSignal;
  /** Where it runs. */
  readonly thread: Thread;
  how: 'finished' | 'threw' | 'retry' | 'skip' | 'dead' | null;
  endedAt: number;
  /** What its signal had told it by its end; `null`: nothing. */
  cause: string | null;
  abandoned: boolean;
  /** Of `retry`. */
  retryMs: number | null;
}

/** What a claim asked for. */
export interface AskedClaim
  extends Pick<
    ClaimRequest,
    'packId' | 'generation' | 'queueClasses' | 'preference' | 'maxClaims' | 'mode' | 'runnable'
  > {
  readonly processingBudget: number;
  /** The scheduler that asked. */
  readonly scanner: string;
}

/** What a lease allows: its item, its token, its epoch. */
export const leaseKey = (workId: string, epoch: number, token: string | null): string =>
  `${workId}@${epoch}/${token}`;

export class Ledger {
  readonly records: RunRecord[] = [];
  readonly transitions: Transition[] = [];
  /** Items over which a batch read failed or hung. */
  readonly readTrouble = new Set<string>();
  /** What somebody asks for in the transaction that is open. */
  acting: Pick<WorkRequest, 'actionId' | 'kind'> | null = null;
  /** By action: items that it changed. */
  readonly acted = new Map<string, number>();
  /** Held items that somebody has ended as dead. */
  readonly endedByPeople = new Set<string>();
  readonly #runs = new Map<string, FlowRun>();
  readonly #outcomes = new Map<string, Set<Outcome['kind']>>();
  readonly #reported = new Map<string, number>();
  readonly #renewals = new Set<string>();
  readonly #gone = new Set<string>();

  /** `counts` false: it began under a lease that was over, and is no part of the history. */
  started({ item, epoch, process }: Run, signal: AbortSignal, thread: Thread, counts = true): FlowRun {
    const run: FlowRun = {
      item,
      epoch,
      process,
      signal,
      thread,
      how: null,
      endedAt: 0,
      cause: null,
      abandoned: !counts,
      retryMs: null,
    };
    if (!counts) return run;
    this.records.push({ kind: 'started', item, epoch, process });
    this.#runs.set(runKey(run), run);
    return run;
  }

  ended(run: FlowRun, how: NonNullable<FlowRun['how']>, at = 0): void {
    if (run.how !== null) return;
    run.how = how;
    run.endedAt = at;
    const { item, epoch, process } = run;
    if (!run.abandoned) {
      this.records.push({
        kind: 'ended',
        how: how === 'finished' ? 'finished' : 'aborted',
        item,
        epoch,
        process,
      });
    }
  }

  /** The product gave it up: whatever it does later counts for nothing. */
  abandoned(run: FlowRun): void {
    if (run.abandoned || run.how !== null) return;
    run.abandoned = true;
    const { item, epoch, process } = run;
    this.records.push({ kind: 'ended', how: 'aborted', item, epoch, process });
  }

  run(item: string, epoch: number): FlowRun | undefined {
    return this.#runs.get(runKey({ item, epoch }));
  }

  /** Runs of a process that have not ended and were not given up. */
  going(process: string): readonly FlowRun[] {
    return [...this.#runs.values()].filter(
      (run) => run.process === process && run.how === null && !run.abandoned,
    );
  }

  isGone(process: string): boolean {
    return this.#gone.has(process);
  }

  gone(process: string, how: 'killed' | 'stopped'): void {
    this.#gone.add(process);
    this.records.push({ kind: 'gone', process, how });
  }

  /** A process asks for this outcome. */
  meant({ workId, epoch, token }: Lease, outcome: Outcome['kind'], at = 0): void {
    const key = leaseKey(workId, epoch, token);
    if (!this.#reported.has(key)) this.#reported.set(key, at);
    const outcomes = this.#outcomes.get(key) ?? new Set();
    this.#outcomes.set(key, outcomes.add(outcome));
  }

  /** The action that is going on changed an item, or made one. */
  noteActed(): void {
    const { actionId } = this.acting!;
    this.acted.set(actionId, (this.acted.get(actionId) ?? 0) + 1);
  }

  isMeant(key: string, outcome: Outcome['kind']): boolean {
    return this.#outcomes.get(key)?.has(outcome) ?? false;
  }

  /** When its process first asked for an outcome; of the world. */
  reportedAt(key: string): number | undefined {
    return this.#reported.get(key);
  }

  renews({ workId, epoch, token }: Lease): void {
    this.#renewals.add(leaseKey(workId, epoch, token));
  }

  /** When a claim under this token was last asked for; of the world. */
  readonly claimSentAt = new Map<string, number>();
  /** What was asked for under a token, last; and by which scanner. */
  readonly claims = new Map<string, AskedClaim>();
  /** A claim under this token is on its way, or was never answered: its repeat may adopt what it claimed. */
  readonly openClaims = new Set<string>();

  isRenewed(key: string): boolean {
    return this.#renewals.has(key);
  }
}
