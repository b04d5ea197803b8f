import { describe, expect, test } from 'vitest';
import { PARTS } from '../../scripts/proof/parts.js';
import { projectFiles, sourceText } from './sources.js';

const page = sourceText('docs/proof.md');
const quoted = (pattern: RegExp): string[] => [...page.matchAll(pattern)].map(([, text]) => text!);

describe('docs/proof.md', () => {
  test('sends nobody to a file that is not there', () => {
    const files = projectFiles('test/');
    const places = quoted(/`(test\/[\w./*-]+)`/g);
    expect(places.length).toBeGreaterThan(10);
    const missing = places.filter((place) => !files.some((file) => file.startsWith(place.replace('*', ''))));
    expect(missing).toEqual([]);
  });

  test('names commands that there are', () => {
    const { scripts } = JSON.parse(sourceText('package.json')) as { scripts: Record<string, string> };
    const commands = quoted(/npm run ([\w:]+)/g);
    expect(commands).toContain('proof');
    expect(commands.filter((command) => !(command in scripts))).toEqual([]);
    const parts = PARTS.map(({ name }) => name);
    expect(quoted(/--only ([\w-]+)/g).filter((part) => !parts.includes(part))).toEqual([]);
  });

  test('leaves out no scenario of faults', () => {
    const scenarios = projectFiles('test/crash/', '.test.ts').map((file) => file.replace('.test.ts', ''));
    const places = quoted(/`(test\/crash\/[\w-]+)\*?`/g);
    const untold = scenarios.filter(
      (file) =>
        !places.some((place) => file === place || file.startsWith(place)) && !file.endsWith('-checker'),
    );
    expect(untold).toEqual([]);
  });
});
