import { describe, expect, test } from 'vitest';
import { projectFiles, sourceText } from './sources.js';

const TEXT = /\.(?:[cm]?[jt]sx?|json|md|ya?ml|sql|html|css|grit|sh|txt)$|^\.|\/\.|^[A-Z]+$|\.ci\/run$/;
const FORBIDDEN = {
  'a path of one machine': /(?<![\w.@~-])\/(?:home|root|Users|workspace|work)\/[\w.-]|\b[A-Z]:\\/,
  'a package registry': /\bregistry\.[a-z-]+\.[a-z]/,
};

describe('tracked files', () => {
  test.each(Object.entries(FORBIDDEN))('hold nowhere %s', (_what, pattern) => {
    const files = projectFiles().filter((file) => TEXT.test(file));
    const hits = files.flatMap((file) =>
      sourceText(file)
        .split('\n')
        .flatMap((line, index) => (pattern.test(line) ? [`${file}:${index + 1}: ${line.trim()}`] : [])),
    );
    expect(hits).toEqual([]);
  });

  test('the lock file pins versions and hashes, not the place they came from', () => {
    const lock = JSON.parse(sourceText('package-lock.json')) as { packages: Record<string, object> };
    const packages = Object.entries(lock.packages).filter(([path]) => path !== '');
    expect(packages.length).toBeGreaterThan(0);
    expect(packages.filter(([, entry]) => 'resolved' in entry).map(([path]) => path)).toEqual([]);
    expect(packages.filter(([, entry]) => !('integrity' in entry)).map(([path]) => path)).toEqual([]);
  });

  test('nothing in the lock file needs a newer Node than the floor', () => {
    const lock = JSON.parse(sourceText('package-lock.json')) as {
      packages: Record<string, { engines?: { node?: string } }>;
    };
    const needsNewer = (range: string) =>
      range.split('||').every((alternative) => /^\s*(?:\^|>=)\s*(?:2[1-9]|[3-9]\d)\b/.test(alternative));
    const packages = Object.entries(lock.packages).filter(([, entry]) =>
      needsNewer(entry.engines?.node ?? '*'),
    );
    expect(packages.map(([path, entry]) => `${path}: ${entry.engines?.node}`)).toEqual([]);
  });

  test('dependencies are pinned exactly', () => {
    const manifest = JSON.parse(sourceText('package.json')) as Record<string, Record<string, string>>;
    const versions = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies });
    expect(versions.filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([]);
  });
});
