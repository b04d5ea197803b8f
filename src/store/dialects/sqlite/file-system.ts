import { readlink, realpath, statfs } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { LaneheadError } from '../../../core/errors.js';

/** `f_type` of statfs(2) for file systems on which SQLite's locks or fsync cannot be relied on. */
const NETWORK_FILE_SYSTEMS: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB2'],
  [0x01021997, '9P'],
  [0x65735546, 'FUSE'],
  [0x00c36400, 'Ceph'],
  [0x47504653, 'GPFS'],
  [0x0bd00bd0, 'Lustre'],
  [0x7461636f, 'OCFS2'],
]);

/** The name of the network file system of this `f_type`, or `null` for any other. */
export const networkFileSystem = (type: number): string | null =>
  NETWORK_FILE_SYSTEMS.get(type >>> 0) ?? null;

const MAX_LINKS = 40;

/**
 * Where a database file lies, or will lie, whatever links lead to it: what is locked, checked and opened by it is the
 * same for all of them. A folder that is missing is left as it was named.
 */
export async function realFile(path: string): Promise<string> {
  let file = resolve(path);
  for (let links = 0; links < MAX_LINKS; links++) {
    const folder = await realpath(dirname(file)).catch(() => dirname(file));
    file = join(folder, basename(file));
    // A link is followed by hand, because it may lead to a file that is yet to be created.
    const target = await readlink(file).catch(() => null);
    if (target === null) return file;
    file = resolve(folder, target);
  }
  throw new LaneheadError('invalid_configuration', `DATABASE_URL: ${path} is a circle of links`);
}

/** @throws LaneheadError `network_file_system` when the folder of `path` lies on one; `invalid_configuration` when it is missing */
export async function requireLocalFileSystem(
  path: string,
  typeOf: (folder: string) => Promise<number> = async (folder) => (await statfs(folder)).type,
): Promise<void> {
  const folder = dirname(resolve(path));
  let type: number;
  try {
    type = await typeOf(folder);
  } catch (error) {
    throw new LaneheadError('invalid_configuration', `DATABASE_URL: folder ${folder} cannot be used`, {
      cause: error,
    });
  }
  const name = networkFileSystem(type);
  if (name !== null) throw new LaneheadError('network_file_system', `${folder} lies on ${name}`);
}
