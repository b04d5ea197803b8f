import fc from 'fast-check';
import { DraftBench } from './draft-oracle.js';
import { Counts, type FuzzOptions, type FuzzReport, fuzz } from './fuzz-run.js';
import { type DrawnMaterialize, materializes } from './odd-outputs.js';
import { type DrawnRequest, requests } from './odd-requests.js';
import { ProcessWatch } from './process-watch.js';
import { judgeRequest } from './scheme-oracle.js';

type Drawn =
  | { readonly to: 'materialize'; readonly drawn: DrawnMaterialize }
  | { readonly to: 'schemes'; readonly drawn: DrawnRequest };

const input: fc.Arbitrary<Drawn> = fc.oneof(
  materializes.map((drawn): Drawn => ({ to: 'materialize', drawn })),
  requests.map((drawn): Drawn => ({ to: 'schemes', drawn })),
);

/** A store in memory grows with every draft. */
const DRAFTS_PER_STORE = 2_000;

/**
 * What packs give back and what senders send: nothing that `materialize` does is thrown on, a draft is in order or a
 * quarantine that says why, both can be stored and read; no scheme throws, or takes for signed what was not.
 */
export async function fuzzPacks(options: FuzzOptions): Promise<FuzzReport> {
  const counts = new Counts();
  const watch = new ProcessWatch();
  let bench = await DraftBench.start();
  let drafts = 0;
  const attempt = async (drawn: Drawn): Promise<void> => {
    if (drawn.to === 'schemes') {
      for (const name of await judgeRequest(drawn.drawn)) counts.add(name);
    } else {
      if (++drafts % DRAFTS_PER_STORE === 0) {
        await bench.close();
        bench = await DraftBench.start();
      }
      counts.add(await bench.judge(drawn.drawn));
    }
    await watch.settle();
  };
  try {
    const result = await fuzz(options, input, attempt, describe);
    return { ...result, counts: counts.toRecord() };
  } finally {
    await bench.close();
    watch.close();
  }
}

function describe({ to, drawn }: Drawn): string {
  if (to === 'materialize') return `  materialize ${drawn.kind} ${drawn.value.text}`;
  return `  ${fc.stringify(drawn)}`;
}
