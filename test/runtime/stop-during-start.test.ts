import { createConnection } from 'mysql2/promise';
import { expect, test } from 'vitest';
import { createLanehead, definePack, signatures } from '../../dist/index.js';
import { lockName } from '../../src/store/dialects/mysql/lock.js';
import { createDatabase } from '../support/mariadb.js';

test('stop ends a start that waits for another process to migrate', { timeout: 120_000 }, async () => {
  const database = await createDatabase();
  const other = await createConnection(database.url);
  await other.query('SELECT GET_LOCK(?, 0)', [lockName(database.name, 'lanehead.migrate')]);
  const lanehead = createLanehead({
    packs: [
      definePack({
        name: 'code',
        version: '1.0.0',
        routes: {
          push: {
            version: 1,
            verify: signatures.github({ secret: 'a secret' }),
            materialize: () => ({ deliveries: [] }),
            flow: () => undefined,
          },
        },
      }),
    ],
    databaseUrl: database.url,
    namespaces: ['acme'],
  });
  const starting = expect(lanehead.start()).rejects.toMatchObject({ code: 'draining' });
  const waiters = async () => {
    const [rows] = await other.query('SHOW PROCESSLIST');
    const here = (rows as { db: string | null; Info: string | null }[]).filter(
      (row) => row.db === database.name,
    );
    return here.filter((row) => row.Info?.includes('GET_LOCK')).length;
  };
  await expect.poll(waiters, { timeout: 20_000 }).toBe(1);
  await lanehead.stop();
  await starting;
  await other.end();
  await database.drop();
});
