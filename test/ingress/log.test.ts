import { expect, test } from 'vitest';
import { definePack } from '../../src/packs/define-pack.js';
import { deliver, eventually, type Fixture, PUSH, pushRoute, sign, startIngress } from './ingress-fixture.js';

interface Line {
  readonly level: number;
  readonly decision?: string;
  readonly msg: string;
}

const WARN = 40;
const about = { namespace: 'acme', pack: 'code', route: 'push', client: '127.0.0.1' };

/** The warnings, once there are so many. */
async function warnings({ logged }: Fixture, count: number): Promise<readonly Line[]> {
  const read = () =>
    logged()
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Line)
      .filter(({ level }) => level >= WARN);
  await eventually(() => read().length).toBe(count);
  return read();
}

/** Nothing that a sender wrote, and nothing that it proved itself by. */
const FOREIGN = new RegExp(`acme/site|Größe|it is known|sha256=|${sign(PUSH).slice(7)}|another`);

test('[ADM-1] a receipt in quarantine is a warning that names it and why', async () => {
  const materialize = () => {
    throw new Error('a bug\nof this release');
  };
  const pack = definePack({
    name: 'code',
    version: '1.0.0',
    routes: { push: { ...pushRoute, materialize } },
  });
  const fixture = await startIngress({ pack });
  const response = await deliver(fixture.url);
  const { receipt } = (await response.json()) as { receipt: string };
  const [line] = await warnings(fixture, 1);
  expect(line).toMatchObject({
    ...about,
    decision: 'quarantined',
    receiptId: receipt,
    error: { message: expect.stringContaining('a bug\nof this release') },
  });
  expect(fixture.logged()).not.toMatch(FOREIGN);
});

test('[ADM-1] a known key with other bytes is a warning that names the receipt; a duplicate is none', async () => {
  const fixture = await startIngress();
  await deliver(fixture.url);
  await deliver(fixture.url);
  const other = JSON.stringify({ repository: 'acme/site', message: 'another' });
  const response = await deliver(fixture.url, { body: other });
  const { receipt } = (await response.json()) as { receipt: string };
  const [line] = await warnings(fixture, 1);
  expect(line).toMatchObject({ ...about, decision: 'conflict', receiptId: receipt });
  expect(fixture.logged()).not.toMatch(FOREIGN);
});

test('FIELD: a refused signature is a warning with the reason that its sender is not told', async () => {
  const fixture = await startIngress();
  await deliver(fixture.url, { headers: { 'x-hub-signature-256': '' } });
  await deliver(fixture.url, { headers: { 'x-hub-signature-256': sign(PUSH, 'another secret') } });
  const lines = await warnings(fixture, 2);
  const refused = { ...about, decision: 'invalid_signature', msg: 'a signature was refused' };
  expect(lines).toMatchObject([
    { ...refused, reason: 'signature_missing' },
    { ...refused, reason: 'signature_mismatch' },
  ]);
  expect(fixture.logged()).not.toMatch(FOREIGN);
});
