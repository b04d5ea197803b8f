/**
 * Vitest's global set-up: lends one MariaDB to the whole run. It is started by the first test that asks
 * (`mysqlUrl()` in mariadb.ts), so that runs without such a test do not pay for it, and it belongs to the main
 * process, so that it ends with the run however the tests end.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type MariadbServer, startMariadb } from './mariadb-server.js';

export default async function setup(): Promise<(() => Promise<void>) | undefined> {
  if (process.env.LANEHEAD_TEST_MYSQL_URL || process.env.LANEHEAD_TEST_MARIADB_LENDER) return undefined;
  let started: Promise<MariadbServer> | undefined;
  const lender = createServer((_request, response) => {
    started ??= startMariadb();
    started.then(
      (server) => response.end(server.url),
      (error: Error) => response.writeHead(500).end(error.message),
    );
  });
  lender.listen(0, '127.0.0.1');
  await once(lender, 'listening');
  const address = lender.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  process.env.LANEHEAD_TEST_MARIADB_LENDER = `http://127.0.0.1:${address.port}/`;
  return async () => {
    lender.close();
    lender.closeAllConnections();
    await started?.then(
      (server) => server.stop(),
      () => undefined,
    );
  };
}
