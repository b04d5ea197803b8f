import { expect, test } from 'vitest';
import { fuzzOptions } from '../support/fuzz-options.js';
import { fuzzPacks } from './fuzz-packs.js';
import { failureText } from './fuzz-run.js';

test('[bad input] whatever materialize gives back and senders send, it ends as a draft, a quarantine or a refusal', async () => {
  const report = await fuzzPacks(fuzzOptions(2_500));
  console.log(`fuzzed packs: ${JSON.stringify(report.counts)}`);
  expect(failureText(report)).toBe('');
  const {
    materialize_invalid,
    'drafts with Events': drafts,
    'signed, nothing: verified': verified,
  } = report.counts;
  expect(Math.min(materialize_invalid!, drafts!, verified!)).toBeGreaterThan(0);
}, 3_600_000);
