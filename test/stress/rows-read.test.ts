import { describe, expect, it } from 'vitest';
import type { ClaimRequest } from '../../src/store/store.js';
import { type Fixture, useStore } from '../conformance/fixture.js';
import { mysqlEngine } from '../support/mysql-engine.js';
import { admitMany, drainInClaims, fullClaims } from './lane-backlog.js';
import { inWords, STRESS_TIMEOUT_MS, stressed } from './stress-options.js';

const BLOCKED = stressed(100_000);
const READY = stressed(50_000);
const LANES = 100;
const HOUR_MS = 3_600_000;
const CLAIM = { maxClaims: 50, processingBudget: 1_000_000 };

/** Rows that the server has touched for the queue's table, whoever asked (MariaDB's user statistics). */
async function rowsRead(at: Fixture): Promise<number> {
  const [row] = await at.sql<{ n: number }>(
    `SELECT ROWS_READ AS n FROM information_schema.TABLE_STATISTICS
      WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '_System_ConnectorWorkItem'`,
  );
  return Number(row?.n ?? 0);
}

describe('stress: what a claim reads', { timeout: STRESS_TIMEOUT_MS }, () => {
  const at = useStore(mysqlEngine('MariaDB at READ COMMITTED'));

  async function readByOneClaim(changes: Partial<ClaimRequest> = CLAIM): Promise<number> {
    const before = await rowsRead(at);
    const items = await at.claim(changes);
    expect(items).toHaveLength(changes.maxClaims!);
    await at.finish(items);
    return (await rowsRead(at)) - before;
  }

  it(`[OWN-2] ${inWords(BLOCKED)} blocked items ahead of ${inWords(READY)} ready → a claim reads as many rows as without backlog`, async () => {
    await at.sql('SET GLOBAL userstat = 1');
    await admitMany(at, 200, (n) => ({ source: `alone-${n}` }));
    const without = await readByOneClaim();
    expect(without).toBeGreaterThan(CLAIM.maxClaims);
    await drainInClaims(at);

    const delayed = { runAfter: Date.now() + HOUR_MS };
    await admitMany(at, BLOCKED, (n) => ({
      source: `blocked-${n % LANES}`,
      ...(n < LANES && delayed),
    }));
    await admitMany(at, READY, (n) => ({ source: `ready-${n}` }));
    for (let n = 0; n < 5; n++) expect(await readByOneClaim()).toBeLessThanOrEqual(without + 50);
    expect(await drainInClaims(at)).toEqual(fullClaims(READY - 5 * 50));
  });

  it(`[QCL-1] ${inWords(BLOCKED)} ready bulk items → a claim for the other classes reads as many rows as without them`, async () => {
    await at.sql('SET GLOBAL userstat = 1');
    const urgent = { ...CLAIM, queueClasses: ['interactive', 'default'], maxClaims: 4 } as const;
    const admitUrgent = (name: string): Promise<void> =>
      admitMany(at, 4, (n) => ({ source: `${name}-${n}`, queueClass: 'interactive' }));
    await admitUrgent('alone');
    const without = await readByOneClaim(urgent);
    expect(without).toBeGreaterThan(urgent.maxClaims);
    await admitMany(at, BLOCKED, (n) => ({ source: `bulk-${n}`, queueClass: 'bulk' }));
    for (let n = 0; n < 5; n++) {
      await admitUrgent(`beside-${n}`);
      expect(await readByOneClaim(urgent)).toBeLessThanOrEqual(without + 4);
    }
  });
});
