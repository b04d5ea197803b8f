import { expect, test } from 'vitest';
import { expectKept, expectUnavailable, ROUNDS, SEED, TIMEOUT_MS } from './expect-kept.js';
import { mariadbKill } from './mariadb-kill.js';

test(
  '[ADM-1, ADM-3, OWN-2, EXE-1] mariadbd killed under load: 503 store_unavailable meanwhile, nothing acknowledged is lost, every order is kept, processes come back by themselves',
  async () => {
    const report = await mariadbKill({ rounds: ROUNDS ?? 3, seed: SEED });
    expectKept('mariadbd killed', report);
    expect(report.faults['mariadbd killed']).toBe(report.rounds);
    expect(report.figures.acceptedWhileDown).toBe(0);
    expectUnavailable(report);
  },
  TIMEOUT_MS,
);
