import fc from 'fast-check';

export interface FuzzOptions {
  /** Whichever ends first. */
  readonly runs?: number;
  readonly minutes?: number;
  readonly seed: number;
}

/** Input that broke a promise, made as small as could be. */
export interface FuzzFailure {
  readonly message: string;
  readonly input: string;
  /** Where in the seed's sequence it was found: `path` of fast-check. */
  readonly path: string;
}

export interface FuzzReport {
  readonly seed: number;
  readonly runs: number;
  /** What was sent and what came of it, by name. */
  readonly counts: Readonly<Record<string, number>>;
  readonly failure: FuzzFailure | null;
}

export class Counts {
  readonly #counts = new Map<string, number>();

  add(name: string, count = 1): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + count);
  }

  toRecord(): Record<string, number> {
    return Object.fromEntries([...this.#counts].sort(([a], [b]) => (a < b ? -1 : 1)));
  }
}

/** Draws inputs and tries each, until one fails or the time is over; a failing one is shrunk. */
export async function fuzz<T>(
  { runs, minutes, seed }: FuzzOptions,
  arbitrary: fc.Arbitrary<T>,
  attempt: (input: T) => Promise<void>,
  describe: (input: T) => string,
): Promise<Pick<FuzzReport, 'seed' | 'runs' | 'failure'>> {
  const details = await fc.check(fc.asyncProperty(arbitrary, attempt), {
    seed,
    numRuns: runs ?? Number.MAX_SAFE_INTEGER,
    ...(minutes === undefined ? {} : { interruptAfterTimeLimit: minutes * 60_000 }),
  });
  const { numRuns, failed, counterexample, counterexamplePath, errorInstance } = details;
  if (!failed || counterexample === null) return { seed, runs: numRuns, failure: null };
  const [input] = counterexample;
  const message = errorInstance instanceof Error ? errorInstance.message : String(errorInstance);
  return {
    seed,
    runs: numRuns,
    failure: { message, input: describe(input), path: counterexamplePath ?? '' },
  };
}

/** For the message of a test. */
export function failureText({ seed, failure }: FuzzReport): string {
  if (failure === null) return '';
  return `seed ${seed}, path ${failure.path}: ${failure.message}\n${failure.input}`;
}
