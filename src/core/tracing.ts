/**
 * What a distributed trace sees of a request and of a run, without the library that records it. Where nothing is
 * traced there is no `Tracing`, and no part pays for one.
 *
 *   request ─▶ send (its context is stored with the receipt) ┄┄ the queue, maybe another process ┄┄▶ run ─▶ settle
 */

/** A span that has begun. */
export interface TraceSpan {
  /** Once; `error`: what kind of failure it ended in, a code of the house; `null`: none. */
  end(error: string | null): void;
}

export interface SendSpan extends TraceSpan {
  /** Goes with the receipt through the store: see `ReceiptDraft.traceContext`. */
  readonly traceContext: string | null;
}

export interface RequestTrace {
  /** The durable enqueue of one receipt. */
  send(receipt: {
    readonly receiptId: string;
    readonly events: number;
    readonly bodyBytes: number;
  }): SendSpan;
  /** The request was decided. */
  end(decision: string, status: number): void;
}

export interface RunTrace {
  /** Calls within the trace, so that spans which the call starts belong to it. */
  within<T>(call: () => T): T;
  /** The outcome is made durable. */
  settle(): TraceSpan;
  /** `outcome`: kind of the outcome, or what became of it; `error`: code of the failure, or `null`. */
  end(outcome: string, error: string | null): void;
}

export interface TracedRoute {
  readonly namespace: string;
  readonly pack: string;
  readonly route: string;
}

export interface TracedRun extends TracedRoute {
  readonly eventId: string;
  readonly queueClass: string;
  readonly attempt: number;
  /** As it was stored; `null`: the run begins a trace of its own. */
  readonly traceContext: string | null;
  /** How long ago the run began. */
  readonly elapsedMs: number;
}

export interface Tracing {
  /** @param header reads a header of the request; what it says is a claim of somebody who is not verified */
  request(route: TracedRoute, method: string, header: (name: string) => string | undefined): RequestTrace;
  run(run: TracedRun): RunTrace;
}
