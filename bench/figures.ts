/** What one contestant did in one run. */
export interface Figures {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** CPU time of the process for one operation, all its threads; steadier than the rest on a busy machine. */
  readonly cpuMicros: number;
}

/** What a contestant did, before it is summed up. */
export interface Measured {
  readonly operations: number;
  /** In which they happened. */
  readonly elapsedMs: number;
  readonly latenciesMs: readonly number[];
  /** Of as many operations as `cpuOperations` says: warm-up counts here. */
  readonly cpuMicros: number;
  readonly cpuOperations: number;
}

/** The last line of a bench. More fields may stand beside these. */
export interface Report {
  readonly bench: string;
  readonly engine: string;
  readonly runs: readonly (Figures & { readonly ratio: number })[];
  readonly median: Figures;
  /** The do-nothing server of the same runs; `null` where there is none. */
  readonly noopPerSecond: number | null;
  /** Whoever ran beside the product in the same runs. */
  readonly peers: Readonly<Record<string, Figures>>;
  /** Median of the runs' ratios to that peer. */
  readonly ratio: number;
  /** Acknowledged events that were not found in the store afterwards, or items that were not completed. */
  readonly missing: number;
  readonly orderViolations: number;
  readonly [more: string]: unknown;
}

const rounded = (value: number): number => Math.round(value * 100) / 100;

export function figuresOf(measured: Measured): Figures {
  const { operations, elapsedMs, latenciesMs, cpuMicros, cpuOperations } = measured;
  const sorted = Float64Array.from(latenciesMs).sort();
  return {
    perSecond: rounded((operations / elapsedMs) * 1_000),
    p50Ms: rounded(percentile(sorted, 0.5)),
    p99Ms: rounded(percentile(sorted, 0.99)),
    cpuMicros: rounded(cpuMicros / cpuOperations),
  };
}

/** The median of none is 0. */
function percentile(sorted: Float64Array, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/** The median of none is 0. */
export function median(values: readonly number[]): number {
  if (values.length === 0) return 0;
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle]! : rounded((sorted[middle - 1]! + sorted[middle]!) / 2);
}

/** Each figure's own median. */
export function medianFigures(runs: readonly Figures[]): Figures {
  return {
    perSecond: median(runs.map((run) => run.perSecond)),
    p50Ms: median(runs.map((run) => run.p50Ms)),
    p99Ms: median(runs.map((run) => run.p99Ms)),
    cpuMicros: median(runs.map((run) => run.cpuMicros)),
  };
}

export function ratioOf(product: Figures, peer: Figures): number {
  return Math.round((product.perSecond / peer.perSecond) * 1_000) / 1_000;
}
