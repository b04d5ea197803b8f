import { expect, test } from 'vitest';
import { fuzzOptions } from '../support/fuzz-options.js';
import { fuzzIngress } from './fuzz-ingress.js';
import { failureText } from './fuzz-run.js';

test('[ADM-1] [ADM-3] FIELD: whatever bytes a connection brings, the ingress answers in HTTP and stores nothing by halves', async () => {
  const report = await fuzzIngress(fuzzOptions(400));
  console.log(`fuzzed ingress: ${JSON.stringify(report.counts)}`);
  expect(failureText(report)).toBe('');
  expect(report.counts['answers: 202']).toBeGreaterThan(0);
}, 3_600_000);
