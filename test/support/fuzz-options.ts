/** How long tests with drawn input go on. A run prints its seed when it fails; the same seed draws the same input. */
interface Drawing {
  readonly seed: number;
  readonly runs: number;
}

/** `LANEHEAD_FUZZ_SEED` repeats a run, `LANEHEAD_FUZZ_RUNS` multiplies the number of runs of every test. */
export function fuzzOptions(runs: number): Drawing {
  const factor = Number(process.env.LANEHEAD_FUZZ_RUNS ?? 1);
  const seed = Number(process.env.LANEHEAD_FUZZ_SEED ?? Math.floor(Math.random() * 2 ** 31));
  return { seed, runs: Math.ceil(runs * factor) };
}
