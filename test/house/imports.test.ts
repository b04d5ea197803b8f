import { describe, expect, test } from 'vitest';
import {
  arrowsOf,
  declaredRooms,
  forbiddenArrows,
  isWithin,
  pathOf,
  productFiles,
  readRooms,
  staleRows,
} from './imports.js';

const ALL_ROOMS =
  'core packs store ingress scheduler executor supervisor legacy stats metrics console cli runtime index';

describe('imports', () => {
  test('the table names every room of the house', () => {
    const names = declaredRooms().map((room) => room.name);
    expect(names).toEqual(expect.arrayContaining(ALL_ROOMS.split(' ')));
  });

  test('no file imports against the table in ARCHITECTURE.md', () => {
    expect(forbiddenArrows(declaredRooms(), productFiles())).toEqual([]);
  });

  test('no row of the table is stale', () => {
    expect(staleRows(declaredRooms(), productFiles())).toEqual([]);
  });

  test('core imports no other room, the two dialects do not know each other', () => {
    const outward = productFiles()
      .flatMap(arrowsOf)
      .filter(({ file, target, isPackage }) => {
        if (isPackage) return false;
        const from = pathOf(file);
        if (isWithin(from, 'core')) return !isWithin(target, 'core');
        if (isWithin(from, 'store/dialects/sqlite')) return isWithin(target, 'store/dialects/mysql');
        return isWithin(from, 'store/dialects/mysql') && isWithin(target, 'store/dialects/sqlite');
      });
    expect(outward).toEqual([]);
  });

  test('the table says what it says', () => {
    const table = '## Allowed imports\n\n| Room | May import | Packages |\n|---|---|---|\n';
    expect(
      readRooms(`${table}| \`a/b\` | \`core\`, \`store/store\` | \`zod\` |\n| \`c\` | empty | – |\n`),
    ).toEqual([
      { name: 'a/b', empty: false, mayImport: ['core', 'store/store'], packages: ['zod'] },
      { name: 'c', empty: true, mayImport: [], packages: [] },
    ]);
  });
});
