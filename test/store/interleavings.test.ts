import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemRandom } from '../../src/core/system.js';
import { createSqlStore } from '../../src/store/sql-store.js';
import type { InstalledPack } from '../../src/store/store.js';
import type { OpenedStore } from '../conformance/engine.js';
import { createDatabase, type TestDatabase } from '../support/mariadb.js';
import { mysqlEngineOn } from '../support/mysql-engine.js';
import { hastyClock, type Participant, type StepperReport, stepThrough } from '../support/stepper.js';
import { SCENARIOS, type Scenario, type Scene } from './races.js';

/* Two real MariaDB connections through the interleavings of their statements, at both isolations. */

/**
 * At the product's isolation every interleaving is run; a scenario that grows beyond this must be cut, not sampled.
 * At REPEATABLE READ subqueries lock, deadlocks start transactions again, and whom the engine makes the victim varies:
 * there a seeded sample is run.
 */
const RUNS = { 'read-committed': 1_500, 'repeatable-read': 250 } as const;

for (const isolation of ['read-committed', 'repeatable-read'] as const) {
  describe(`interleavings at ${isolation}`, () => {
    let database: TestDatabase;
    let at: OpenedStore;
    let packs = 0;
    beforeAll(async () => {
      database = await createDatabase();
      at = await mysqlEngineOn(database, 'beside').open();
    });
    afterAll(async () => {
      await at.close();
      await database.drop();
    });

    it.each(SCENARIOS.map((scenario) => [scenario.title, scenario] as const))(
      '%s',
      async (_title, scenario) => {
        const report = await race(scenario);
        expect(report.run).toBeGreaterThan(1);
        if (isolation === 'read-committed') expect(report.exhaustive).toBe(true);
      },
      600_000,
    );

    function race(scenario: Scenario): Promise<StepperReport> {
      const participant =
        (work: Scenario['A']): Participant<Scene> =>
        (driver, scene) =>
          work(createSqlStore({ driver, clock: hastyClock, random: systemRandom() }), scene);
      return stepThrough<Scene>({
        url: database.url,
        participants: { A: participant(scenario.A), B: participant(scenario.B) },
        driver: { isolation },
        limit: RUNS[isolation],
        async fixture() {
          const [pack] = (await at.store.installPacks([
            { namespace: `n${++packs}`, pack: 'raced', version: '1.0.0' },
          ])) as [InstalledPack];
          return { pack, other: pack, items: [], receipts: [], ...(await scenario.scene(at, pack)) };
        },
        async invariant({ fixture, results }) {
          for (const result of Object.values(results)) if (result instanceof Error) throw result;
          await scenario.holds(at, fixture, results as { A: unknown; B: unknown });
        },
      });
    }
  });
}
