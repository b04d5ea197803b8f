import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import pino from 'pino';
import { idMaker } from '../../src/core/ids.js';
import { systemClock, systemRandom } from '../../src/core/system.js';
import { routesOf } from '../../src/ingress/route-table.js';
import { createIngress } from '../../src/ingress/server.js';
import { definePack } from '../../src/packs/define-pack.js';
import { signatures } from '../../src/packs/signatures.js';
import { openSqliteStore } from '../../src/store/dialects/sqlite/open.js';
import type { Store } from '../../src/store/store.js';
import { BODY_LIMIT_BYTES, pushRoute, SECRET } from '../support/push-route.js';

const push = { ...pushRoute, maxBodyBytes: BODY_LIMIT_BYTES };

const pack = definePack({
  name: 'code',
  version: '1.0.0',
  routes: {
    push,
    acked: { ...push, ack: { status: 201, body: '<ok/>', contentType: 'text/xml' } },
    meta: { ...push, verify: signatures.meta({ secret: SECRET, verifyToken: 'a token' }) },
    slack: { ...push, verify: signatures.slack({ secret: SECRET }) },
    mailgun: { ...push, verify: signatures.mailgun({ secret: SECRET }) },
    graph: { ...push, verify: signatures.microsoftGraph({ clientState: SECRET }) },
    odd: { ...push, materialize: (receipt) => JSON.parse(receipt.text()) },
  },
});

export interface FuzzServer {
  readonly url: string;
  readonly store: Store;
  readonly rows: <Row>(sql: string, ...params: readonly unknown[]) => readonly Row[];
  /** Errors in its log since the last call. */
  readonly logged: () => readonly string[];
  readonly close: () => Promise<void>;
}

/** Places for a few requests only, so that one which is never given back is soon missed. */
const IN_FLIGHT = { requests: 32, bytes: 2 * 2 ** 20 };

/** An ingress over a SQLite file, in this process; it listens on a free port of the loopback. */
export async function startFuzzServer(): Promise<FuzzServer> {
  const folder = await mkdtemp(join(tmpdir(), 'lanehead-fuzz-'));
  const path = join(folder, 'fuzz.db');
  const random = systemRandom();
  const store = openSqliteStore({ path, clock: systemClock, random });
  await store.migrate();
  const namespaces = ['acme', 'paused', 'retired'];
  const version = pack.version;
  const installed = await store.installPacks(
    namespaces.map((namespace) => ({ namespace, pack: 'code', version })),
  );
  const [, paused, retired] = installed;
  await store.setPackStatus(paused!.packId, 'paused');
  await store.setPackStatus(retired!.packId, 'retired');
  const errors: string[] = [];
  const ingress = createIngress({
    store,
    resolve: routesOf((await store.listPacks()).map((one) => ({ pack, installed: one }))),
    clock: systemClock,
    random,
    newId: idMaker(systemClock, random),
    log: pino({ level: 'error' }, { write: (line: string) => void errors.push(line) }),
    checks: { store: () => store.ping() },
    onCommitted: () => {},
    inFlight: IN_FLIGHT,
    // In this thread a commit is over before the next receipt comes; gathered ones share it, as in a server.
    groupCommit: { gatherMs: 2 },
  });
  const { url } = await ingress.listen({ host: '127.0.0.1', port: 0 });
  const beside = new Database(path, { readonly: true });
  return {
    url,
    store,
    rows: (sql, ...params) => beside.prepare(sql).all(...params) as never,
    logged: () => errors.splice(0),
    async close() {
      await ingress.close({ timeoutMs: 5_000 });
      beside.close();
      await store.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
