import { types } from 'node:util';

/** What a flow decided about its item by `ctx.retryAfter`, `ctx.skip` or `ctx.dead`. */
export type FlowVerdict =
  | { readonly kind: 'retry'; readonly delayMs: number | null }
  | { readonly kind: 'skip'; readonly why: string }
  | { readonly kind: 'dead'; readonly why: string };

/**
 * Carries a verdict out of the flow. An Error, so that code in between may log it and throw it on; private, so
 * that nothing else can be mistaken for one.
 */
class FlowSignal extends Error {
  readonly owner: object;
  readonly verdict: FlowVerdict;

  constructor(owner: object, verdict: FlowVerdict) {
    super(`the flow decided: ${verdict.kind}`);
    this.name = 'FlowSignal';
    this.owner = owner;
    this.verdict = verdict;
  }
}

export function throwVerdict(owner: object, verdict: FlowVerdict): never {
  throw new FlowSignal(owner, verdict);
}

const MAX_CAUSES = 8;

/**
 * The verdict in what a flow threw: the signal itself, however often it was caught and thrown again, or the
 * `cause` of an error that wraps it. A signal that is swallowed is no verdict, and neither is one of another
 * run, which a cache of rejected promises may hand out.
 */
export function verdictIn(thrown: unknown, owner: object): FlowVerdict | null {
  try {
    let current = thrown;
    for (let depth = 0; depth <= MAX_CAUSES && types.isNativeError(current); depth++) {
      if (current instanceof FlowSignal) return current.owner === owner ? current.verdict : null;
      current = current.cause;
    }
  } catch {
    // A getter of a thrown value threw: it is not ours.
  }
  return null;
}
