import type { FailureCode, Outcome } from '../core/outcome.js';
import type { Random } from '../core/random.js';
import { DEFAULT_RETRY, retryDelayMs } from '../core/retry.js';
import { loadedToFlowEvent } from '../packs/flow-event.js';
import type { FlowLog, Pack, Route } from '../packs/types.js';
import type { ClaimedItem } from '../store/store.js';
import type { CallWatch } from './call-watch.js';
import { type EventLoadingParts, type Loading, loadTogether } from './event-loading.js';
import type { CallEnd } from './guarded-call.js';
import type { HeldLease } from './held-lease.js';
import { packLog } from './item-log.js';
import { checkRoute } from './route-check.js';
import { workError } from './work-error.js';
import type { WorkRun } from './work-run.js';

export interface ClaimBatchParts extends EventLoadingParts {
  readonly namespace: string;
  readonly pack: Pack;
  /** A newer version of the pack is installed than this process has. */
  readonly isBehind: boolean;
  readonly watch: CallWatch;
  readonly log: FlowLog;
}

/**
 * What one claim brought. Input is fetched for all of it at once, and only now: ownership comes first (SCH-7).
 * `load` and `read` may be called by every run; each works once.
 */
export class ClaimBatch {
  readonly runs: readonly WorkRun[];
  readonly #parts: ClaimBatchParts;
  readonly #reads = new Map<Route, Promise<CallEnd>>();
  #loaded: Promise<void> | null = null;

  constructor(parts: ClaimBatchParts, items: readonly ClaimedItem[], held: readonly HeldLease[]) {
    this.#parts = parts;
    this.runs = items.map((item, place) => {
      const { route, outcome } = checkRoute(parts.pack, item, parts.isBehind);
      return { item, held: held[place]!, batch: this, route, event: null, traceContext: null, outcome };
    });
  }

  /** Gives every run of a known route its Event, or an outcome. */
  load(): Promise<void> {
    this.#loaded ??= this.#load();
    return this.#loaded;
  }

  /** The route's batch read over the runs that are still on their way. */
  read(route: Route): Promise<CallEnd> {
    let read = this.#reads.get(route);
    if (read === undefined) {
      read = this.#read(route);
      this.#reads.set(route, read);
    }
    return read;
  }

  /** Its lease leaves time to act, and the process is not stopping. */
  mayRun(run: WorkRun): boolean {
    return this.#leftMs(run) > 0;
  }

  #leftMs(run: WorkRun): number {
    const { watch, clock } = this.#parts;
    return watch.stopping ? 0 : run.held.safeUntil - clock.monotonic();
  }

  async #load(): Promise<void> {
    const runs = this.runs.filter((run) => run.outcome === null);
    if (runs.length === 0) return;
    const eventIds = runs.map((run) => run.item.eventId);
    const loadings = await loadTogether(this.#parts, eventIds, () =>
      Math.max(...runs.map((run) => this.#leftMs(run))),
    );
    for (const [place, run] of runs.entries()) this.#fill(run, loadings[place]!);
  }

  #fill(run: WorkRun, loading: Loading): void {
    if (loading.kind === 'unreadable') run.outcome = unreadable(run.item, loading.error, this.#parts.random);
    else if (loading.kind === 'unavailable')
      run.outcome = { kind: 'released', reason: 'event not available' };
    else if (loading.event === null) run.outcome = EVENT_MISSING;
    else if (!this.mayRun(run)) run.outcome = { kind: 'released', reason: 'too late to start' };
    else {
      run.event = loadedToFlowEvent(this.#parts.namespace, loading.event);
      run.traceContext = loading.event.traceContext;
    }
  }

  async #read(route: Route): Promise<CallEnd> {
    const { namespace, pack, watch, log } = this.#parts;
    const runs = this.runs.filter((run) => run.route === route && run.outcome === null);
    const events = runs.map((run) => run.event!);
    const call = watch.open(runs.map((run) => run.held));
    const context = {
      namespace,
      log: packLog(log, namespace, pack.name),
      get signal() {
        return call.signal;
      },
    };
    const settled = await call.run(() => route.batchRead?.(events, context));
    return { settled, abortCause: call.abortCause };
  }
}

const EVENT_MISSING: Outcome = {
  kind: 'dead',
  error: { code: 'event_missing', message: 'the Event of this item does not exist' },
};

function unreadable(item: ClaimedItem, error: unknown, random: Random): Outcome {
  const delayMs = retryDelayMs(DEFAULT_RETRY, item.failures + 1, random);
  return { kind: 'failed', error: workError('event_unreadable' satisfies FailureCode, error), delayMs };
}
