import { describe, expect, onTestFinished, test } from 'vitest';
import { systemClock, systemRandom } from '../../../src/core/system.js';
import { openMysqlDriver } from '../../../src/store/dialects/mysql/driver.js';
import { createSqlStore } from '../../../src/store/sql-store.js';
import { AccessRefused, openingFailure, type Store } from '../../../src/store/store.js';
import { createDatabase } from '../../support/mariadb.js';
import { ask, killConnection } from './support.js';

const PASSWORD = 'known-to-both';
const RIGHTS = 'SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, INDEX';

/** A database and a user that has `rights` on it. */
async function withUser(rights: string | null) {
  const database = await createDatabase();
  const name = new URL(database.url).pathname.slice(1);
  const user = `'${name.slice(-24)}'@'%'`;
  await ask(database.url, `CREATE USER ${user} IDENTIFIED BY '${PASSWORD}'`);
  onTestFinished(async () => {
    await ask(database.url, `DROP USER ${user}`);
    await database.drop();
  });
  if (rights !== null) await ask(database.url, `GRANT ${rights} ON \`${name}\`.* TO ${user}`);
  const url = new URL(database.url);
  url.username = name.slice(-24);
  url.password = PASSWORD;
  return { url, database, administer: (text: string) => ask(database.url, text), name, user };
}

async function open(url: URL): Promise<Store> {
  const driver = await openMysqlDriver({ url: url.href, clock: systemClock, unsafeDurability: true });
  const store = createSqlStore({ driver, clock: systemClock, random: systemRandom() });
  onTestFinished(() => store.close());
  return store;
}

const failureOf = (work: Promise<unknown>): Promise<unknown> => work.then(() => null, openingFailure);
const wrong = (message: RegExp) => ({
  code: 'invalid_configuration',
  message: expect.stringMatching(message),
});

describe('[ADM-3] a server that refuses', { timeout: 120_000 }, () => {
  test('the password, the database or a right ends an opening, by its setting', async () => {
    const { url } = await withUser(null);
    expect(await failureOf(open(url))).toMatchObject(
      wrong(/^DATABASE_URL: Access denied .*; create the database/),
    );
    url.password = 'not-that-one';
    const failure = await failureOf(open(url));
    expect(failure).toMatchObject(wrong(/^DATABASE_URL: Access denied .*; check the user and the password/));
    expect(String(failure)).not.toContain('not-that-one');
  });

  test('to create tables ends a migration; with the documented rights it is applied', async () => {
    const { url, administer, name, user } = await withUser('SELECT, INSERT, UPDATE, DELETE');
    const store = await open(url);
    expect(await failureOf(store.migrate())).toMatchObject(
      wrong(/^DATABASE_URL: CREATE command denied .*; grant/),
    );
    await administer(`GRANT ${RIGHTS} ON \`${name}\`.* TO ${user}`);
    const granted = await open(url);
    expect((await granted.migrate()).applied.length).toBeGreaterThan(0);
    await granted.installPacks([{ namespace: 'acme', pack: 'code', version: '1.0.0' }]);
  });

  test('the password while it is served is an outage, over once the old one is back', async () => {
    const { url, database, administer, name, user } = await withUser(RIGHTS);
    const store = await open(url);
    await store.migrate();
    await administer(`ALTER USER ${user} IDENTIFIED BY 'rotated'`);
    const sessions = `SELECT ID FROM information_schema.PROCESSLIST WHERE USER = '${name.slice(-24)}'`;
    for (const { ID } of await administer(sessions)) await killConnection(database.url, Number(ID));
    await expect(store.listPacks()).rejects.toMatchObject({ name: 'StoreOutage' });
    const failure = await store.listPacks().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(AccessRefused);
    expect(failure).toMatchObject({ outcome: 'none' });
    await administer(`ALTER USER ${user} IDENTIFIED BY '${PASSWORD}'`);
    expect(await store.listPacks()).toEqual([]);
  });
});
