/** Programs of this machine, and Debian's packages where it may install them. */
import { execFileSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

const INSTALL_TIMEOUT_MS = 600_000;
/** Debian keeps servers outside the PATH of ordinary users. */
const MORE_FOLDERS = ['/usr/sbin', '/usr/local/sbin', '/usr/local/bin', '/usr/bin'];

export const isRoot = (): boolean => process.getuid?.() === 0;

/** The first of these paths that may be used so. */
export function firstUsable(paths: readonly string[], mode: number = constants.X_OK): string | undefined {
  return paths.find((path) => {
    try {
      accessSync(path, mode);
      return true;
    } catch {
      return false;
    }
  });
}

export function findProgram(name: string): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter).filter(Boolean), ...MORE_FOLDERS];
  return firstUsable(folders.map((folder) => join(folder, name)));
}

/** `false`: not as this user, or not on this system. */
export function installPackage(name: string): boolean {
  if (!isRoot() || findProgram('apt-get') === undefined) return false;
  aptGet('update');
  aptGet('install', '--yes', '--no-install-recommends', name);
  return true;
}

function aptGet(...args: readonly string[]): void {
  execFileSync('apt-get', args, {
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    stdio: ['ignore', 'ignore', 'inherit'],
    timeout: INSTALL_TIMEOUT_MS,
  });
}
