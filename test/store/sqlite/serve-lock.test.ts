import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  networkFileSystem,
  realFile,
  requireLocalFileSystem,
} from '../../../src/store/dialects/sqlite/file-system.js';
import { acquireServeLock } from '../../../src/store/dialects/sqlite/serve-lock.js';
import { openingFailure } from '../../../src/store/store.js';

describe('serving a SQLite file', () => {
  let folder: string;
  let path: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'lanehead-lock-'));
    path = join(folder, 'store.db');
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('is for one at a time, and free again after release', () => {
    const lock = acquireServeLock(path);
    expect(() => acquireServeLock(path)).toThrow(expect.objectContaining({ code: 'database_in_use' }));
    lock.release();
    lock.release();
    acquireServeLock(path).release();
  });

  it('is free again when the process that served was killed', async () => {
    const script = `
      const Database = require('better-sqlite3');
      const lock = new Database(${JSON.stringify(`${path}-serve`)});
      lock.exec('BEGIN EXCLUSIVE');
      console.log('locked');
      setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(child.stdout, 'data');
    expect(() => acquireServeLock(path)).toThrow(expect.objectContaining({ code: 'database_in_use' }));
    child.kill('SIGKILL');
    await once(child, 'exit');
    acquireServeLock(path).release();
  });

  it('refuses network file systems by their type, and a missing folder by its name', async () => {
    expect([0x6969, 0xff534d42, -11317950, 0xef53].map(networkFileSystem)).toEqual([
      'NFS',
      'CIFS',
      'CIFS',
      null,
    ]);
    await requireLocalFileSystem(path);
    await expect(requireLocalFileSystem(path, async () => 0x6969)).rejects.toMatchObject({
      code: 'network_file_system',
    });
    await expect(requireLocalFileSystem(join(folder, 'no/store.db'))).rejects.toMatchObject({
      code: 'invalid_configuration',
      message: expect.stringContaining('no'),
    });
  });

  it('is for one file, whatever links lead to it, and before it exists', async () => {
    const real = join(realpathSync(folder), 'store.db');
    mkdirSync(join(folder, 'links'));
    symlinkSync('../store.db', join(folder, 'links/to-file.db'));
    symlinkSync('to-file.db', join(folder, 'links/to-link.db'));
    symlinkSync(folder, join(folder, 'links/to-folder'));
    const names = [path, 'links/to-file.db', 'links/to-link.db', 'links/to-folder/store.db'];
    const through = () => Promise.all(names.map((name) => realFile(resolve(folder, name))));
    expect(await through()).toEqual(names.map(() => real));
    writeFileSync(path, '');
    expect(await through()).toEqual(names.map(() => real));
  });

  it('says that a lock cannot be written instead of that another process serves', () => {
    mkdirSync(`${path}-serve`);
    const refused = (() => {
      try {
        return acquireServeLock(path);
      } catch (error) {
        return openingFailure(error);
      }
    })();
    expect(refused).toMatchObject({
      code: 'invalid_configuration',
      message: expect.stringMatching(
        /^DATABASE_URL: .*store\.db-serve cannot be used \(SQLITE_CANTOPEN.*\); ./,
      ),
    });
  });

  it('refuses a circle of links', async () => {
    symlinkSync('circle.db', join(folder, 'circle.db'));
    await expect(realFile(join(folder, 'circle.db'))).rejects.toMatchObject({
      code: 'invalid_configuration',
    });
  });
});
