import { describe, expect, test } from 'vitest';
import { packSchema } from '../../src/packs/pack-schema.js';
import { signatures } from '../../src/packs/signatures.js';
import { supervisorSettings } from '../../src/supervisor/supervisor-settings.js';
import { sourceText } from './sources.js';

const page = sourceText('docs/packs.md');
const section = (title: string): string => page.split(`\n## ${title}\n`)[1]!.split('\n## ')[0]!;
const rows = (text: string): string[][] =>
  [...text.matchAll(/^\| `(\w+)` \|(.+)\|$/gm)].map(([, name, rest]) => [
    name!,
    ...rest!.split('|').map((cell) => cell.trim()),
  ]);

const route = packSchema.parse({
  name: 'p',
  version: '1.0.0',
  routes: {
    r: { version: 1, verify: signatures.github({ secret: 's' }), materialize: () => null, flow: () => null },
  },
}).routes.r!;

describe('docs/packs.md', () => {
  test('lists every field of a route with its default, and no other', () => {
    const documented = Object.fromEntries(rows(section('A route').split('### ')[0]!));
    expect(Object.keys(documented).sort()).toEqual(Object.keys(route).sort());
    for (const [name, value] of Object.entries(route)) {
      if (['version', 'verify', 'materialize', 'flow'].includes(name)) {
        expect(documented[name], name).toBe('required');
      } else if (name === 'retry') {
        const { attempts, baseMs, maxMs } = route.retry;
        expect(documented.retry).toBe(`\`attempts\` ${attempts}, \`baseMs\` ${baseMs}, \`maxMs\` ${maxMs}`);
      } else if (name === 'shed') {
        expect(documented.shed).toContain('`last` where');
        expect(value).toBe('last');
      } else if (name !== 'maxBodyBytes') {
        expect(documented[name], name).toBe(`\`${value}\``);
      }
    }
  });

  test('lists every signature scheme, and no other', () => {
    expect(rows(section('Signature schemes')).map(([name]) => name)).toEqual(Object.keys(signatures));
  });

  test('names the defaults of the drain', () => {
    const [, , drain] = rows(section('In a process of your own')).find(([name]) => name === 'drain')!;
    for (const [name, value] of Object.entries(supervisorSettings())) {
      if (typeof value === 'number' && name !== 'abandonMs') expect(drain).toContain(`\`${name}\` ${value}`);
    }
  });
});
