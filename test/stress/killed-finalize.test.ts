import { afterAll, expect, test } from 'vitest';
import { systemClock, systemRandom } from '../../src/core/system.js';
import { openMysqlDriver } from '../../src/store/dialects/mysql/driver.js';
import type { MysqlStep } from '../../src/store/dialects/mysql/options.js';
import { createSqlStore } from '../../src/store/sql-store.js';
import type { Finalization } from '../../src/store/store.js';
import { claimRequest, ITEM, recountByHand, useStore } from '../conformance/fixture.js';
import { createDatabase } from '../support/mariadb.js';
import { mysqlEngineOn } from '../support/mysql-engine.js';
import { STRESS_TIMEOUT_MS } from './stress-options.js';

const database = await createDatabase();
afterAll(() => database.drop());
const at = useStore(mysqlEngineOn(database, 'MariaDB at READ COMMITTED'));

/** What the lane of this test's pack looks like to others. */
async function lane(): Promise<string> {
  const rows = await at.item('1 = 1');
  return rows.map(({ State, Readiness }) => `${State} ${Readiness}`).join(', ');
}

async function takeHead(): Promise<Finalization[]> {
  await at.admit({ events: [{ source: 'a' }] }, { events: [{ source: 'a' }] });
  const items = await at.claim();
  expect(items).toHaveLength(1);
  return items.map(({ lease }) => ({ lease, outcome: { kind: 'completed' } }));
}

test(
  '[OWN-2] [EXE-3] kill between complete and successor → both or neither, whichever statement the connection is killed before',
  async () => {
    const steps: MysqlStep[] = [];
    let killBefore = -1;
    let sawAfterKill: string[] | null = null;
    const driver = await openMysqlDriver({
      url: database.url,
      clock: systemClock,
      async onStatement(step) {
        if (sawAfterKill !== null) sawAfterKill.push(await lane());
        else if (steps.push(step) - 1 === killBefore) {
          await at.sql(`KILL CONNECTION ${step.connectionId}`);
          sawAfterKill = [];
        }
      },
    });
    const store = createSqlStore({ driver, clock: systemClock, random: systemRandom() });
    try {
      const whole = await takeHead();
      const neither = await lane();
      steps.length = 0;
      await store.finalize(whole);
      const both = await lane();
      expect(both).not.toBe(neither);
      const names = steps.map(({ name }) => name);
      expect([names[0], names.at(-1)]).toEqual(['begin', 'commit']);
      expect(names.length).toBeGreaterThan(3);

      for (let place = 1; place < names.length; place++) {
        await at.drain();
        await at.sql(`DELETE FROM ${ITEM} WHERE PackId = ?`, [at.pack.packId]);
        await recountByHand(at);
        const batch = await takeHead();
        expect(await lane()).toBe(neither);
        steps.length = 0;
        killBefore = place;
        sawAfterKill = null;
        const outcome = await store.finalize(batch).catch((error: Error) => error);
        const seen: string[] = [...(sawAfterKill ?? ['never killed']), await lane()];
        expect(seen.filter((state) => state !== neither && state !== both)).toEqual([]);
        killBefore = -1;
        if (outcome instanceof Error) await store.finalize(batch);
        expect(await lane()).toBe(both);
        expect((await at.store.claim(claimRequest(at.pack))).items).toHaveLength(1);
      }
    } finally {
      await store.close();
    }
  },
  STRESS_TIMEOUT_MS,
);
