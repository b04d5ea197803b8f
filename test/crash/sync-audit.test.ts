import { expect, test } from 'vitest';
import { requireStrace } from '../support/crash-tools.js';
import { expectKept, ROUNDS, SEED, TIMEOUT_MS } from './expect-kept.js';
import { syncAudit } from './sync-audit.js';

test(
  '[ADM-1] no 2xx leaves the socket before the fsync that makes its commit durable has returned',
  async ({ skip }) => {
    requireStrace(skip);
    const report = await syncAudit({ rounds: ROUNDS ?? 2, seed: SEED });
    expectKept('sync audit', report);
    expect(report.figures.early).toBe(0);
    expect(report.figures.audited).toBeGreaterThanOrEqual(report.rounds * 150);
    expect(report.figures.syncs).toBeGreaterThan(report.rounds);
  },
  TIMEOUT_MS,
);
