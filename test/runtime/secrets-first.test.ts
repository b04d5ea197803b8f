import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { definePack } from '../../src/packs/define-pack.js';
import { signatures } from '../../src/packs/signatures.js';
import { createLanehead } from '../../src/runtime/runtime.js';

test('a secret that is missing is named before a database is created, and a method after a stop says what to do', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'lanehead-secrets-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'store.db');
  const events = {
    version: 1,
    verify: signatures.github({ secret: () => undefined }),
    materialize: () => ({ deliveries: [] }),
    flow: () => undefined,
  };
  const packs = [definePack({ name: 'code', version: '1.0.0', routes: { events } })];
  const lanehead = createLanehead({ packs, namespaces: ['acme'], databaseUrl: `sqlite:${file}` });
  await expect(lanehead.start()).rejects.toMatchObject({ code: 'invalid_configuration' });
  expect(existsSync(file)).toBe(false);
  await lanehead.stop();
  await expect(lanehead.start()).rejects.toMatchObject({
    code: 'draining',
    action: expect.stringContaining('make a new one'),
  });
});
