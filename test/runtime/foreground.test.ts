import { createConnection } from 'mysql2/promise';
import { expect, onTestFinished, test } from 'vitest';
import { newLeaseToken } from '../../src/core/ids.js';
import { systemRandom } from '../../src/core/system.js';
import { openServingStore } from '../../src/runtime/open-store.js';
import type { ClaimRequest } from '../../src/store/store.js';
import { draftReceipt } from '../support/drafts.js';
import { createDatabase } from '../support/mariadb.js';

/** One connection of each kind, and somebody else's connection that can lock rows against either. */
async function open() {
  const database = await createDatabase();
  const settings = { databaseUrl: database.url, unsafeDurability: true, poolSize: 1, admissionPoolSize: 1 };
  const { store, close } = await openServingStore(settings);
  await store.migrate();
  const [installed] = await store.installPacks([{ namespace: 'acme', pack: 'p', version: '1.0.0' }]);
  const other = await createConnection(database.url);
  await other.beginTransaction();
  onTestFinished(async () => {
    await other.end();
    await close();
    await database.drop();
  });
  const admit = (source: string) =>
    store.materialize({
      packId: installed!.packId,
      namespace: 'acme',
      receipts: [draftReceipt(installed!, { events: [{ source }] })],
    });
  return { store, installed: installed!, other, admit };
}

const claimOf = ({ packId, generation }: { packId: number; generation: number }): ClaimRequest => ({
  packId,
  generation,
  claimWorkTypes: [],
  queueClasses: [],
  preference: [],
  maxClaims: 1,
  leaseMs: 30_000,
  processingBudget: 8,
  mode: 'any',
  token: newLeaseToken(systemRandom()),
  holder: 'test',
});

test('[ADM-4, TRM-1] with every connection of the drain held, admission commits and readiness answers', async () => {
  const { store, installed, other, admit } = await open();
  await admit('s-0');
  // The claim holds the only connection of the background until the drain row is free.
  await other.query('SELECT * FROM _System_ConnectorDrain WHERE PackId = ? FOR UPDATE', [installed.packId]);
  let claimed = false;
  const claim = store.claim(claimOf(installed)).finally(() => {
    claimed = true;
  });
  const read = store.stats({ exact: false });
  expect(await admit('s-1')).toMatchObject([{ duplicate: false }]);
  await store.ping();
  await store.schemaStatus();
  expect(await store.listPacks()).toHaveLength(1);
  expect(claimed).toBe(false);
  await other.rollback();
  expect((await claim).items).toHaveLength(1);
  await read;
});

test('[ADM-4] with every connection of admission held, claims and reads go on', async () => {
  const { store, installed, other, admit } = await open();
  await admit('s-0');
  await other.query('SELECT * FROM _System_Namespace WHERE Namespace = ? FOR UPDATE', ['acme']);
  let admitted = false;
  const admission = admit('s-1').finally(() => {
    admitted = true;
  });
  expect((await store.claim(claimOf(installed))).items).toHaveLength(1);
  expect((await store.stats({ exact: false })).packs).toHaveLength(1);
  expect(admitted).toBe(false);
  await other.rollback();
  expect(await admission).toMatchObject([{ duplicate: false }]);
});
