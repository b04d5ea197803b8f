import { expect, test } from 'vitest';
import { createLanehead, type Lanehead } from '../../dist/index.js';
import {
  type CrashDatabase,
  itemRows,
  mysqlCrashDatabase,
  sqliteCrashDatabase,
} from '../support/crash-database.js';
import { Load } from '../support/load-over-changes.js';

const DRAIN = { workersPerPack: 8 };
const SOURCES = 12;
const SOME = 40;

const running: Lanehead[] = [];

async function start(load: Load, database: CrashDatabase, name: string): Promise<Lanehead> {
  const lanehead = createLanehead({
    packs: [load.pack(1, name)],
    databaseUrl: database.url,
    namespaces: ['acme'],
    drain: DRAIN,
    poolSize: 4,
  });
  running.push(lanehead);
  await lanehead.start();
  return lanehead;
}

async function judge(load: Load, database: CrashDatabase, lanehead: Lanehead): Promise<void> {
  const acknowledged = await load.end();
  await lanehead.drainUntilIdle({ timeoutMs: 120_000 });
  expect(await load.violations(database)).toEqual([]);
  expect(load.underOlder).toEqual([]);
  const rows = await itemRows(database);
  expect(rows).toHaveLength(acknowledged);
  expect(rows.filter(({ state, failures }) => state !== 'completed' || failures > 0)).toEqual([]);
  console.info(
    `${database.engine}: ${JSON.stringify({ acknowledged, answers: [...load.answers], ranUnder: [...load.ranUnder] })}`,
  );
}

test('[SCH-2, EXE-6] versions come, pauses, removals and returns, all under load: nothing is lost, doubled, out of order or run under an older version', {
  timeout: 240_000,
}, async () => {
  const database = await sqliteCrashDatabase();
  try {
    const load = new Load();
    const lanehead = await start(load, database, 'one');
    load.send([lanehead], SOURCES);
    await load.ran(1, SOME);
    for (let version = 2; version <= 6; version += 2) {
      await lanehead.usePacks([load.pack(version, 'one')]);
      await load.ran(version, SOME);
      await Promise.all([lanehead.pausePack('load'), load.answered(503, SOME)]);
      await lanehead.usePacks([load.pack(version + 1, 'one')]);
      await lanehead.resumePack('load');
      await load.ran(version + 1, SOME);
      const other = { ...load.pack(1, 'one'), name: 'other' };
      await Promise.all([lanehead.usePacks([other]), load.answered(404, SOME)]);
      await lanehead.usePacks([other, load.pack(version + 1, 'one')]);
      await load.ran(version + 1, SOME);
    }
    await judge(load, database, lanehead);
    const { packs } = await lanehead.stats();
    expect(packs.find(({ pack }) => pack === 'load')).toMatchObject({ generation: 7 });
  } finally {
    for (const lanehead of running.splice(0)) await lanehead.stop();
    await database.close();
  }
});

test('[SCH-2, EXE-6] two processes on MariaDB go to a new version one after the other, back to the old one, and pause, under load', {
  timeout: 240_000,
}, async () => {
  const database = await mysqlCrashDatabase();
  try {
    const load = new Load();
    const [one, two] = [await start(load, database, 'one'), await start(load, database, 'two')];
    load.send([one, two], SOURCES);
    await load.ran(1, SOME);
    await one.usePacks([load.pack(2, 'one')]);
    await load.ran(2, SOME);
    await two.usePacks([load.pack(2, 'two')]);
    await load.ran(2, SOME);
    // A canary comes and goes: what it admitted waits until somebody knows it again.
    await two.usePacks([load.pack(3, 'two')]);
    await load.ran(3, SOME);
    await two.usePacks([load.pack(2, 'two')]);
    await load.ran(2, SOME);
    // The pause of one process is that of the other within two seconds.
    await one.pausePack('load');
    await load.answered(503, SOME);
    await two.resumePack('load');
    await Promise.all([one.usePacks([load.pack(3, 'one')]), two.usePacks([load.pack(3, 'two')])]);
    await load.ran(3, SOME);
    await judge(load, database, one);
  } finally {
    for (const lanehead of running.splice(0)) await lanehead.stop();
    await database.close();
  }
});
