import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { livingMutant, mutate } from '../../scripts/contract/mutants.js';

export const ROOT = join(import.meta.dirname, '../..');
const mutant = livingMutant(ROOT);

/** Files of the project, relative to its root: tracked ones and new ones that are not ignored. */
export function projectFiles(prefix = '', extension = ''): string[] {
  const listing = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  return listing
    .split('\0')
    .filter((file) => file.startsWith(prefix) && file.endsWith(extension) && existsSync(join(ROOT, file)))
    .sort();
}

/** The text of a file, with the living mutant in it: rules about sources can be proven by mutants too. */
export function sourceText(file: string): string {
  const text = readFileSync(join(ROOT, file), 'utf8');
  return mutant?.file === file ? mutate(mutant, text) : text;
}

export function parse(file: string): ts.SourceFile {
  return ts.createSourceFile(file, sourceText(file), ts.ScriptTarget.ES2022, true);
}

/** Calls `visit` for every node below `node`. */
export function walk(node: ts.Node, visit: (node: ts.Node) => void): void {
  ts.forEachChild(node, (child) => {
    visit(child);
    walk(child, visit);
  });
}
