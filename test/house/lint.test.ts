/** The bans in biome.json hold where they should; a renamed rule or a lost plugin would be silent otherwise. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ROOT } from './sources.js';

const BANNED_IN_ROOMS = [
  'export const x = Date.now();',
  'export const x = new Date();',
  'export const x = Math.random();',
  'export const x = performance.now();',
  'export const x = process.hrtime.bigint();',
  'export const x = setTimeout(() => {}, 1);',
  'export const x = setInterval(() => {}, 1);',
  'export const x = setImmediate(() => {});',
  'export const x = globalThis.setTimeout(() => {}, 1);',
  'export const x = AbortSignal.timeout(1);',
  "export { setTimeout as x } from 'node:timers/promises';",
  "import { randomUUID as x } from 'node:crypto';\nexport { x };",
];
const BANNED_ANYWHERE = [
  'export const x: any = 1;',
  'const x = 1;',
  'async function f(): Promise<void> {\n  await Promise.resolve();\n}\nf();',
];
const ALLOWED = {
  'src/core/system.ts': BANNED_IN_ROOMS.slice(0, 1),
  'test/ingress/allowed.ts': BANNED_IN_ROOMS.slice(1),
  'src/ingress/allowed.ts': ['export const x = (clock: { now(): number }): Date => new Date(clock.now());'],
};

const roomProbe = (index: number): string => `src/ingress/banned-${index}.ts`;
const anywhereProbe = (index: number): string => `test/ingress/banned-${index}.ts`;

describe('lint', () => {
  let refused: Set<string>;

  beforeAll(() => {
    const root = mkdtempSync(join(tmpdir(), 'lanehead-lint-'));
    afterAll(() => rmSync(root, { recursive: true, force: true }));
    for (const part of ['biome.json', '.gitignore', 'scripts/lint']) {
      cpSync(join(ROOT, part), join(root, part), { recursive: true });
    }
    const write = (file: string, text: string) => {
      mkdirSync(dirname(join(root, file)), { recursive: true });
      writeFileSync(join(root, file), `${text}\n`);
    };
    BANNED_IN_ROOMS.forEach((text, index) => void write(roomProbe(index), text));
    BANNED_ANYWHERE.forEach((text, index) => void write(anywhereProbe(index), text));
    for (const [file, texts] of Object.entries(ALLOWED)) {
      texts.forEach((text, index) => void write(file.replace('allowed', `allowed-${index}`), text));
    }
    const biome = join(ROOT, 'node_modules/.bin/biome');
    const options = ['lint', '.', '--reporter=github', '--max-diagnostics=none', '--diagnostic-level=error'];
    const run = spawnSync(biome, options, { cwd: root, encoding: 'utf8' });
    const reported = run.stdout.matchAll(/^::error .*?file=([^,]+),/gm);
    refused = new Set([...reported].map((match) => match[1]!.replace(`${root}/`, '')));
  });

  test.each(BANNED_IN_ROOMS.map((text, index) => [text, index] as const))(
    'refuses in a room: %s',
    (_, index) => {
      expect(refused).toContain(roomProbe(index));
    },
  );

  test.each(BANNED_ANYWHERE.map((text, index) => [text, index] as const))(
    'refuses anywhere: %s',
    (_, index) => {
      expect(refused).toContain(anywhereProbe(index));
    },
  );

  test('refuses nothing else: the adapter and the tests may touch the machine', () => {
    expect(refused.size).toBe(BANNED_IN_ROOMS.length + BANNED_ANYWHERE.length);
  });
});
