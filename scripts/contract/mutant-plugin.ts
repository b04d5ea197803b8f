import { join } from 'node:path';
import type { Plugin } from 'vitest/config';
import { livingMutant, mutate } from './mutants.js';

/** Vite plugin: lets the mutant named by LANEHEAD_MUTANT live in memory. Files stay as they are. */
export function mutantPlugin(root: string): Plugin {
  const mutant = livingMutant(root);
  const target = mutant && join(root, mutant.file);
  return {
    name: 'lanehead-mutant',
    enforce: 'pre',
    transform(code, id) {
      if (!mutant || id.split('?')[0] !== target) return null;
      return { code: mutate(mutant, code), map: null };
    },
  };
}
