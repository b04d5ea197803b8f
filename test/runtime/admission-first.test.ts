import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sign } from '@octokit/webhooks-methods';
import { expect, onTestFinished, test } from 'vitest';
import { createLanehead, definePack, signatures } from '../../dist/index.js';

const SECRET = 'a secret of the test';

/** A pool with so many slots that an undisturbed scan asks for more than one short transaction. */
async function open() {
  const folder = mkdtempSync(join(tmpdir(), 'lanehead-first-'));
  const push = {
    version: 1,
    verify: signatures.github({ secret: SECRET }),
    materialize: () => ({ deliveries: [{ key: 'd', events: [{ type: 'push', sourceKey: 's' }] }] }),
    flow: () => undefined,
  };
  const lanehead = createLanehead({
    packs: [definePack({ name: 'code', version: '1.0.0', routes: { push } })],
    databaseUrl: `sqlite:${join(folder, 'store.db')}`,
    namespaces: ['acme'],
    admin: { port: 0 },
    drain: { workersPerPack: 160, poll: { minMs: 5, maxMs: 20 } },
  });
  onTestFinished(async () => {
    await lanehead.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const { adminUrl } = await lanehead.start();
  const scrape = async (): Promise<string> => (await fetch(`${adminUrl}/metrics`)).text();
  const admit = async (body: string): Promise<number> => {
    const headers = { 'x-hub-signature-256': await sign(SECRET, body) };
    const url = 'http://localhost/in/acme/code/push';
    return (await lanehead.handle(new Request(url, { method: 'POST', body, headers }))).status;
  };
  return { scrape, admit };
}

const SHORTENED = /^lanehead_claim_decisions_total\{.*decision="reduced".*probe="admission".*\} [1-9]/m;
const GRANTED = /^lanehead_claim_decisions_total\{.*decision="granted".*\} [1-9]/m;

test('[ADM-4] a process that admits claims in short transactions, and one that does not in long ones', async () => {
  const { scrape, admit } = await open();
  await expect.poll(scrape, { timeout: 20_000 }).toMatch(GRANTED);
  expect(await scrape()).not.toMatch(SHORTENED);
  let sent = 0;
  const admitAndScrape = async (): Promise<string> => {
    expect([200, 202]).toContain(await admit(`{"number":${sent++}}`));
    return await scrape();
  };
  await expect.poll(admitAndScrape, { timeout: 20_000, interval: 10 }).toMatch(SHORTENED);
});
