/**
 * A claimed item and a pack make an outcome. One value, the run, goes through small steps:
 *
 *   accept ─▶ start ─▶ load Event ─▶ batch read ─▶ flow ─▶ normalize ─▶ report
 *     (route check)        any step may give the outcome; the ones after it are passed over
 *
 * Knows the store only as a `WorkItemService`, through the parts it is given.
 */
import type { FailureCode, Outcome } from '../core/outcome.js';
import { DEFAULT_RETRY, retryDelayMs } from '../core/retry.js';
import { type DrainStage, Stopwatch } from '../core/stopwatch.js';
import type { RunTrace, Tracing } from '../core/tracing.js';
import type { Route } from '../packs/types.js';
import type { WorkEvents } from '../scheduler/work-events.js';
import type { ClaimedItem } from '../store/store.js';
import { type CallStage, callOutcome } from './call-outcome.js';
import { ClaimBatch, type ClaimBatchParts } from './claim-batch.js';
import type { Finalizer } from './finalizer.js';
import { FlowRunContext } from './flow-run-context.js';
import type { CallEnd } from './guarded-call.js';
import { itemLog, packLog } from './item-log.js';
import type { LeaseHandle } from './lease-handle.js';
import { workError } from './work-error.js';
import type { WorkRun } from './work-run.js';

export interface ExecutorParts extends ClaimBatchParts {
  readonly leaseMs: number;
  readonly leases: LeaseHandle;
  readonly finalizer: Finalizer;
  readonly events: WorkEvents;
  /** Default: nothing is traced. */
  readonly tracing?: Tracing | null;
}

/** One run on its way to an outcome, with what is measured of it. */
interface Execution {
  readonly run: WorkRun;
  readonly stopwatch: Stopwatch<DrainStage>;
  /** Begins when the Event is there, which says whose trace it goes on with. */
  trace: RunTrace | null;
}

const EXECUTOR_CRASH: FailureCode = 'executor_crash';

export class Executor {
  readonly #parts: ExecutorParts;

  constructor(parts: ExecutorParts) {
    this.#parts = parts;
  }

  /**
   * Takes a claim over: from here on its leases are kept. `sentAt`: when the claim was sent, monotonic.
   * Renewing ends when a batch read and a flow have both had all their time, and one lease after.
   */
  accept(items: readonly ClaimedItem[], sentAt: number): readonly WorkRun[] {
    const { leases, watch, leaseMs } = this.#parts;
    const renewUntil = sentAt + 2 * watch.limits.abandonMs + leaseMs;
    const held = leases.track(
      items.map((item) => item.lease),
      { sentAt, renewUntil },
    );
    return new ClaimBatch(this.#parts, items, held).runs;
  }

  /** Runs the item and makes its outcome durable. An exception is a bug of this house; see `contain`. */
  async execute(run: WorkRun): Promise<void> {
    const { clock, events } = this.#parts;
    const execution: Execution = { run, stopwatch: new Stopwatch(clock), trace: null };
    execution.stopwatch.note('queue_wait', this.#queueWaitMs(run.item));
    events.emit('started', { item: run.item });
    try {
      const outcome = await this.#outcomeOf(execution);
      if (outcome !== null) await this.#report(execution, outcome);
      else execution.trace?.end('unfinished', 'stopping');
    } catch (thrown) {
      execution.trace?.end('failed', EXECUTOR_CRASH);
      throw thrown;
    }
  }

  /** After an exception left `execute`: the item fails for it, so that it cannot crash slots for ever (SUP-6). */
  async contain(run: WorkRun, thrown: unknown): Promise<void> {
    const { clock, random } = this.#parts;
    const delayMs = retryDelayMs(DEFAULT_RETRY, run.item.failures + 1, random);
    const error = workError(EXECUTOR_CRASH, thrown);
    const execution: Execution = { run, stopwatch: new Stopwatch(clock), trace: null };
    await this.#report(execution, { kind: 'failed', error, delayMs });
  }

  /** Gives claimed items back that were never accepted; costs nothing of their budget. */
  async release(items: readonly ClaimedItem[]): Promise<void> {
    const outcome: Outcome = { kind: 'released', reason: 'no slot was left to run it' };
    await Promise.all(items.map((item) => this.#parts.finalizer.finalize(item.lease, outcome)));
  }

  /** By the database's clock alone: a claim's lease ends `leaseMs` after the claim. */
  #queueWaitMs({ lease, runAfter }: ClaimedItem): number {
    return Math.max(0, lease.untilMs - this.#parts.leaseMs - runAfter);
  }

  /** `null`: nothing may be reported; the lease is left to run out. */
  async #outcomeOf(execution: Execution): Promise<Outcome | null> {
    const { run, stopwatch } = execution;
    await run.batch.load();
    stopwatch.lap('load');
    execution.trace = this.#trace(execution);
    if (run.outcome !== null) return run.outcome;
    const route = run.route!;
    if (route.batchRead === null) return await this.#perform(execution, route, undefined);
    const read = await run.batch.read(route);
    stopwatch.lap('batch_read');
    if (read.settled.kind === 'returned') return await this.#perform(execution, route, read.settled.value);
    return this.#normalize(run, route, 'batchRead', read, null);
  }

  #trace({ run, stopwatch }: Execution): RunTrace | null {
    const { tracing, namespace, pack } = this.#parts;
    if (!tracing) return null;
    const { eventId, queueClass, attempt, route } = run.item;
    const { traceContext } = run;
    const { elapsedMs } = stopwatch;
    return tracing.run({
      namespace,
      pack: pack.name,
      route,
      eventId,
      queueClass,
      attempt,
      traceContext,
      elapsedMs,
    });
  }

  async #perform(
    { run, stopwatch, trace }: Execution,
    route: Route,
    prefetched: unknown,
  ): Promise<Outcome | null> {
    if (!run.batch.mayRun(run)) return { kind: 'released', reason: 'too late to start' };
    const call = this.#parts.watch.open([run.held]);
    const { log, namespace, pack } = this.#parts;
    const context = new FlowRunContext(run.item, call, prefetched, () =>
      itemLog(packLog(log, namespace, pack.name), run.item),
    );
    const flow = () => route.flow(run.event!, context);
    const settled = await call.run(trace === null ? flow : () => trace.within(flow));
    stopwatch.lap('flow');
    return this.#normalize(run, route, 'flow', { settled, abortCause: call.abortCause }, context);
  }

  #normalize(
    run: WorkRun,
    route: Route,
    stage: CallStage,
    end: CallEnd,
    owner: object | null,
  ): Outcome | null {
    const { item } = run;
    if (end.settled.kind === 'abandoned') this.#parts.events.emit('abandoned', { item, stage });
    const { settled, abortCause } = end;
    const report = { settled, abortCause, stage, owner, item, retry: route.retry };
    return callOutcome(report, this.#parts.random);
  }

  async #report({ run, stopwatch, trace }: Execution, outcome: Outcome): Promise<void> {
    const { finalizer, leases, events } = this.#parts;
    const { item } = run;
    const span = trace?.settle();
    const report = await finalizer.finalize(run.held.lease, outcome);
    leases.untrack(run.held);
    stopwatch.lap('finalize');
    span?.end(report.kind === 'applied' ? null : report.kind);
    trace?.end(outcome.kind, 'error' in outcome && outcome.kind !== 'skipped' ? outcome.error.code : null);
    switch (report.kind) {
      case 'applied': {
        const { state, failures } = report;
        const { elapsedMs, times: stages } = stopwatch;
        return events.emit('finished', { item, outcome, state, failures, elapsedMs, stages });
      }
      case 'lost':
        return events.emit('lost', { item, outcome });
      case 'unreported':
        return events.emit('unreported', { item, outcome, error: report.error });
    }
  }
}
