import type { FlowContext, FlowLog } from '../packs/types.js';
import type { ClaimedItem } from '../store/store.js';
import { throwVerdict } from './flow-signal.js';

/**
 * The `ctx` of one run. The claim's fields come from the claimed item (EXE-2). What a flow may never touch is made
 * when it is touched; the verdicts are own functions, so that `({ skip }) => skip('…')` works.
 */
export class FlowRunContext implements FlowContext<unknown> {
  readonly workId: string;
  readonly attempt: number;
  readonly epoch: number;
  readonly prefetched: unknown;
  readonly #call: { readonly signal: AbortSignal };
  readonly #makeLog: () => FlowLog;
  #log: FlowLog | null = null;

  constructor(
    item: ClaimedItem,
    call: { readonly signal: AbortSignal },
    prefetched: unknown,
    makeLog: () => FlowLog,
  ) {
    this.workId = item.lease.workId;
    this.attempt = item.attempt;
    this.epoch = item.lease.epoch;
    this.prefetched = prefetched;
    this.#call = call;
    this.#makeLog = makeLog;
  }

  get signal(): AbortSignal {
    return this.#call.signal;
  }

  get log(): FlowLog {
    this.#log ??= this.#makeLog();
    return this.#log;
  }

  get retryAfter(): (delayMs: number) => never {
    return (delayMs) => throwVerdict(this, { kind: 'retry', delayMs: usableDelay(delayMs) });
  }

  get skip(): (why: string) => never {
    return (why) => throwVerdict(this, { kind: 'skip', why: asText(why) });
  }

  get dead(): (why: string) => never {
    return (why) => throwVerdict(this, { kind: 'dead', why: asText(why) });
  }
}

const MAX_DELAY_MS = 365 * 24 * 3_600_000;

/** A header that was no number makes a NaN; the route's own backoff is the better guess then. */
function usableDelay(delayMs: unknown): number | null {
  if (typeof delayMs !== 'number' || Number.isNaN(delayMs) || delayMs < 0) return null;
  return Math.round(Math.min(delayMs, MAX_DELAY_MS));
}

function asText(why: unknown): string {
  return typeof why === 'string' ? why : `(${typeof why})`;
}
