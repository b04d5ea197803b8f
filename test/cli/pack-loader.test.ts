import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { packLoader } from '../../src/cli/pack-loader.js';
import { temporaryFolder } from './processes.js';

const packText = (name: string, version: string) => `
const { definePack, signatures } = require('lanehead');
module.exports = definePack({
  name: '${name}',
  version: '${version}',
  routes: {
    events: {
      version: 1,
      verify: signatures.github({ secret: 'known to the test' }),
      materialize: () => ({ deliveries: [] }),
      flow: () => {},
    },
  },
});
`;

describe('pack files', { timeout: 120_000 }, () => {
  test('may be TypeScript that imports CommonJS packages, files of its own and this library', async () => {
    const [pack] = await packLoader().load([join(import.meta.dirname, 'packs/imports-much.ts')]);
    expect([...pack!.routes.keys()]).toEqual(['from-another-file']);
  });

  test('may be CommonJS, and are read anew by a second call', async () => {
    const file = join(temporaryFolder(), 'pack.cjs');
    const loader = packLoader();
    writeFileSync(file, packText('first', '1.0.0'));
    expect(await loader.load([file])).toMatchObject([{ name: 'first', version: '1.0.0' }]);
    writeFileSync(file, packText('first', '1.1.0'));
    expect(await loader.load([file])).toMatchObject([{ name: 'first', version: '1.1.0' }]);
  });

  test.each([
    ['a number', 'export default 1;'],
    ['no default export', 'export const name = 1;'],
    ['what definePack takes', "export default { name: 'x', version: '1.0.0', routes: {} };"],
    ['a promise', 'export default Promise.resolve(1);'],
  ])('that export %s are refused', async (_what, text) => {
    const file = join(temporaryFolder(), 'pack.ts');
    writeFileSync(file, text);
    await expect(packLoader().load([file])).rejects.toMatchObject({
      code: 'invalid_pack',
      message: `${file}: its default export is not what definePack returns`,
    });
  });

  test('that throw something that is no Error are refused without it', async () => {
    const file = join(temporaryFolder(), 'pack.ts');
    writeFileSync(file, "throw 'hunter2';");
    await expect(packLoader().load([file])).rejects.toMatchObject({
      message: `${file}: it threw something that is not an Error`,
    });
  });
});
