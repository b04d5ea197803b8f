import { existsSync } from 'node:fs';
import { dirname, resolve, sep } from 'node:path';
import { createJiti, type Jiti } from 'jiti';
import { LaneheadError } from '../core/errors.js';
import * as lanehead from '../index.js';
import type { Pack } from '../packs/types.js';

export interface PackLoader {
  /**
   * The default exports of pack files, TypeScript or JavaScript. A second call reads the files anew, what they import
   * included, except for packages.
   * @throws LaneheadError `invalid_pack` with one line for each file that fails to load or is no pack
   */
  load(files: readonly string[]): Promise<readonly Pack[]>;
}

export function packLoader(): PackLoader {
  const jiti = createJiti(import.meta.url, {
    // A pack and the process that runs it share one library, wherever the pack lies.
    virtualModules: { lanehead },
    // A cache on disk would keep a copy of sources that may hold secrets.
    fsCache: false,
  });
  const before = new Set(Object.keys(jiti.cache));
  return {
    async load(files) {
      for (const path of Object.keys(jiti.cache)) {
        if (!before.has(path) && !path.includes(`${sep}node_modules${sep}`)) delete jiti.cache[path];
      }
      const packs: Pack[] = [];
      const problems: string[] = [];
      for (const file of files) {
        const pack = await loadPack(jiti, file);
        if (typeof pack === 'string') problems.push(`${file}: ${pack}`);
        else packs.push(pack);
      }
      if (problems.length > 0) throw new LaneheadError('invalid_pack', problems.join('\n'));
      return packs;
    },
  };
}

/** The pack, or what is wrong with the file. */
async function loadPack(jiti: Jiti, file: string): Promise<Pack | string> {
  const path = resolve(file);
  if (!existsSync(path)) return 'there is no such file';
  try {
    const pack = await jiti.import(path, { default: true });
    return isPack(pack) ? pack : 'its default export is not what definePack returns';
  } catch (error) {
    return messageOf(error);
  }
}

/** By shape, not by class: a pack may have been made by another copy of this library. */
function isPack(value: unknown): value is Pack {
  if (typeof value !== 'object' || value === null || !Object.isFrozen(value)) return false;
  const { name, version, routes } = value as Partial<Pack>;
  return typeof name === 'string' && typeof version === 'string' && routes instanceof Map;
}

/** What went wrong, and where in the user's own files; the rest of a stack is ours. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return 'it threw something that is not an Error';
  const [message = ''] = error.message.trim().split('\n', 1);
  const places = [...(error.stack ?? '').matchAll(/(?:file:\/\/)?(\/[^\s():]+:\d+:\d+)/g)];
  const place = places.map((match) => match[1]!).find(isOfUser);
  return place === undefined ? message.trim() : `${message.trim()} (${place})`;
}

/** The sources of this library, wherever they are. */
const OWN = `${dirname(import.meta.dirname)}/`;

const isOfUser = (path: string): boolean => !path.includes('/node_modules/') && !path.startsWith(OWN);
