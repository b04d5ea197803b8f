import { describe } from 'vitest';
import { claimCases } from './claim-cases.js';
import { decisionCases } from './decision-cases.js';
import type { Engine } from './engine.js';
import { finalizeCases } from './finalize-cases.js';
import { limitCases } from './limit-cases.js';
import { materializeCases } from './materialize-cases.js';
import { ownershipCases } from './ownership-cases.js';
import { packCases } from './pack-cases.js';
import { preferenceCases } from './preference-cases.js';
import { projectionCases } from './projection-cases.js';
import { replayCases } from './replay-cases.js';
import { reportCases } from './report-cases.js';

/** The one conformance suite. */
export function describeStore(engine: Engine): void {
  describe(`store on ${engine.name}`, () => {
    materializeCases(engine);
    claimCases(engine);
    preferenceCases(engine);
    limitCases(engine);
    finalizeCases(engine);
    ownershipCases(engine);
    packCases(engine);
    projectionCases(engine);
    decisionCases(engine);
    replayCases(engine);
    reportCases(engine);
  });
}
