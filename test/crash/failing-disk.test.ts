import { expect, test } from 'vitest';
import { requireStrace } from '../support/crash-tools.js';
import { expectKept, expectUnavailable, ROUNDS, SEED, TIMEOUT_MS } from './expect-kept.js';
import { DISK_FAULTS, failingDisk } from './failing-disk.js';

test(
  '[ADM-1, ADM-3] EIO of fsync and of writes: 503 and never a 2xx, the process serves again by itself when it is over, and nothing acknowledged is lost, also when it is killed meanwhile',
  async ({ skip }) => {
    requireStrace(skip);
    const report = await failingDisk({ rounds: ROUNDS ?? DISK_FAULTS + 1, seed: SEED });
    expectKept('failing disk', report);
    const { acceptedWhileFailing, early, killedWhileFailing } = report.figures;
    expect({ acceptedWhileFailing, early }).toEqual({ acceptedWhileFailing: 0, early: 0 });
    expect(killedWhileFailing).toBeGreaterThan(0);
    expect(Math.min(...Object.values(report.faults))).toBeGreaterThan(0);
    expectUnavailable(report);
  },
  TIMEOUT_MS,
);
