import { expect, test } from 'vitest';
import { requireMount } from '../support/crash-tools.js';
import { expectKept, expectUnavailable, ROUNDS, SEED, TIMEOUT_MS } from './expect-kept.js';
import { fullDisk } from './full-disk.js';

/** A checkpoint every thousand pages, and room for one commit above. */
const WAL_BOUND_BYTES = 16 * 2 ** 20;

test(
  '[ADM-1, ADM-3] a full disk under load: 503, nothing is half stored, the process serves again when there is room, the WAL stays bounded',
  async ({ skip }) => {
    requireMount(skip);
    const report = await fullDisk({ rounds: ROUNDS ?? 4, seed: SEED });
    expectKept('full disk', report);
    expect(report.figures.corrupt).toBe(0);
    expect(report.figures.killedWhileFull).toBeGreaterThan(0);
    expect(report.figures.largestWalBytes).toBeLessThan(WAL_BOUND_BYTES);
    expectUnavailable(report);
  },
  TIMEOUT_MS,
);
