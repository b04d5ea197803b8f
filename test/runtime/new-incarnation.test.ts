import { sign } from '@octokit/webhooks-methods';
import { createConnection } from 'mysql2/promise';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createLanehead, definePack, type Lanehead, type Role, signatures } from '../../dist/index.js';
import { createDatabase, type TestDatabase } from '../support/mariadb.js';

const SECRET = 'a secret';

describe('processes of two versions on one database', { timeout: 300_000 }, () => {
  let database: TestDatabase;
  let ran: string[];
  let running: Lanehead[];
  beforeEach(async () => {
    database = await createDatabase();
    ran = [];
    running = [];
  });
  afterEach(async () => {
    for (const lanehead of running) await lanehead.stop({ timeoutMs: 0 });
    await database.drop();
  });

  async function start(
    version: string,
    { role = 'all' as Role, routeVersion = 1, routes = ['push'] } = {},
  ): Promise<Lanehead> {
    const route = {
      version: routeVersion,
      verify: signatures.github({ secret: SECRET }),
      materialize: (receipt: { header(name: string): string | undefined }) => {
        const key = receipt.header('x-github-delivery')!;
        return { deliveries: [{ key, events: [{ type: 'push', sourceKey: key }] }] };
      },
      flow: ({ deliveryKey }: { deliveryKey: string }) => void ran.push(`${version} ran ${deliveryKey}`),
    };
    const pack = definePack({
      name: 'code',
      version,
      routes: Object.fromEntries(routes.map((name) => [name, route])),
    });
    const lanehead = createLanehead({
      packs: [pack],
      databaseUrl: database.url,
      namespaces: ['acme'],
      role,
      poolSize: 3,
    });
    running.push(lanehead);
    await lanehead.start();
    return lanehead;
  }

  async function push(lanehead: Lanehead, delivery: string, route = 'push'): Promise<void> {
    const body = JSON.stringify({ delivery });
    const headers = { 'x-github-delivery': delivery, 'x-hub-signature-256': await sign(SECRET, body) };
    const url = `http://localhost/in/acme/code/${route}`;
    expect((await lanehead.handle(new Request(url, { method: 'POST', body, headers }))).status).toBe(202);
  }

  /** The first item: how often it was claimed, and 1 where it was put aside. */
  async function firstItem(): Promise<{ Attempt: number; Readiness: number }> {
    const connection = await createConnection(database.url);
    try {
      const [rows] = await connection.query('SELECT Attempt, Readiness FROM _System_ConnectorWorkItem');
      const [{ Attempt, Readiness }] = rows as [{ Attempt: number; Readiness: number }];
      return { Attempt, Readiness };
    } finally {
      await connection.end();
    }
  }

  test('[SCH-2] a process drains on when a newer version came and was rolled back', async () => {
    const old = await start('1.0.0');
    await push(old, 'before');
    await old.drainUntilIdle();
    const canary = await start('1.0.1');
    await canary.stop();
    await push(old, 'after');
    await old.drainUntilIdle();
    expect(ran).toEqual(['1.0.0 ran before', '1.0.0 ran after']);
  });

  test('[SCH-2, SCH-8] older workers drain what a newer ingress admits', async () => {
    await start('1.0.0', { role: 'worker' });
    const ingress = await start('1.0.1', { role: 'ingress' });
    await push(ingress, 'one');
    await ingress.drainUntilIdle();
    expect(ran).toEqual(['1.0.0 ran one']);
  });

  test('[EXE-6] work of a newer route version is left alone by older workers, and ends with the newer one', async () => {
    await start('1.0.0', { role: 'worker' });
    const ingress = await start('2.0.0', { role: 'ingress', routeVersion: 2 });
    await push(ingress, 'one');
    await expect.poll(firstItem, { timeout: 60_000 }).toEqual({ Attempt: 0, Readiness: 1 });
    await start('2.0.0', { role: 'worker', routeVersion: 2 });
    const { packs } = await ingress.drainUntilIdle({ timeoutMs: 180_000 });
    expect(packs).toMatchObject([{ generation: 2, classes: { default: { completed: 1, dead: 0 } } }]);
    expect(ran).toEqual(['2.0.0 ran one']);
  });

  test('[EXE-6] work of a route that a newer version brought is left alone by older workers, and ends with the newer one', async () => {
    const old = await start('1.0.0', { role: 'worker' });
    const routes = ['push', 'brought'];
    const ingress = await start('2.0.0', { role: 'ingress', routes });
    await push(ingress, 'one', 'brought');
    await expect.poll(firstItem, { timeout: 60_000 }).toEqual({ Attempt: 0, Readiness: 1 });
    await push(ingress, 'two');
    await expect.poll(() => ran, { timeout: 60_000 }).toEqual(['1.0.0 ran two']);
    await old.stop();
    await start('2.0.0', { role: 'worker', routes });
    const { packs } = await ingress.drainUntilIdle({ timeoutMs: 180_000 });
    expect(packs).toMatchObject([{ generation: 2, classes: { default: { completed: 2, dead: 0 } } }]);
    expect(ran).toEqual(['1.0.0 ran two', '2.0.0 ran one']);
  });
});
