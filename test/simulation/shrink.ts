import { FAULT_KINDS } from './faults.js';
import type { SeedOptions } from './options.js';
import { DEFAULT_OPS, type SimulationReport, simulate } from './simulation.js';

/** The same seed with fewer deliveries and fewer kinds of faults that still breaks the same invariant. */
export async function shrink(failed: SimulationReport, given: SeedOptions): Promise<SeedOptions> {
  const kind = failed.violations[0]!.kind;
  const breaks = async (options: SeedOptions): Promise<boolean> => {
    const { violations } = await simulate({ seed: failed.seed, ...options });
    return violations[0]?.kind === kind;
  };
  let options = given;
  for (let least = 1, most = given.ops ?? DEFAULT_OPS; least < most; ) {
    const ops = Math.floor((least + most) / 2);
    if (await breaks({ ...options, ops })) most = ops;
    else least = ops + 1;
    if (least >= most && (await breaks({ ...options, ops: most }))) options = { ...options, ops: most };
  }
  for (const fault of FAULT_KINDS) {
    if (options.without.includes(fault) || failed.injected[fault] === undefined) continue;
    const fewer = { ...options, without: [...options.without, fault] };
    if (await breaks(fewer)) options = fewer;
  }
  return options;
}
