import { expect, test } from 'vitest';
import { brokenNetwork, NETWORK_FAULTS } from './broken-network.js';
import { expectKept, ROUNDS, SEED, TIMEOUT_MS } from './expect-kept.js';

/**
 * The process gives a statement up after 30 s and a connection after 5 s; the server ends a session that says nothing,
 * and with it its locks, after 30 s. The rest is patience with a busy machine.
 */
const HALF_OPEN_BOUND_MS = 60_000;

test(
  '[ADM-1, ADM-3, OWN-5, EXE-1] connections cut, delayed, half open, and COMMITs whose answer is lost: nothing acknowledged is lost, and half-open TCP recovers within a stated bound',
  async () => {
    const report = await brokenNetwork({ rounds: ROUNDS ?? NETWORK_FAULTS, seed: SEED });
    expectKept('broken network', report);
    expect(Object.keys(report.faults).length).toBeGreaterThanOrEqual(NETWORK_FAULTS);
    expect(report.slowestRecoveryMs['half open']).toBeLessThan(HALF_OPEN_BOUND_MS);
  },
  TIMEOUT_MS,
);
