/**
 * Fails when a declaration that callers of the package reach says `any`: their mistakes would go unseen from there
 * on. Follows `dist/index.d.ts`.
 */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import ts from 'typescript';

interface Declarations {
  readonly imports: readonly string[];
  readonly leaks: readonly string[];
}

function read(file: string): Declarations {
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.ES2022, true);
  const imports = ts
    .preProcessFile(source.text)
    .importedFiles.map((imported) => imported.fileName)
    .filter((name) => name.startsWith('.'))
    .map((name) => join(dirname(file), name.replace(/\.js$/, '.d.ts')));
  const leaks: string[] = [];
  const visit = (node: ts.Node): void => {
    if (node.kind === ts.SyntaxKind.AnyKeyword) {
      leaks.push(`${file}:${source.getLineAndCharacterOfPosition(node.getStart()).line + 1}`);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return { imports, leaks };
}

const reached = new Map<string, Declarations>();
const waiting = ['dist/index.d.ts'];
for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
  if (reached.has(file)) continue;
  const declarations = read(file);
  reached.set(file, declarations);
  waiting.push(...declarations.imports);
}
const leaks = [...reached.values()].flatMap((declarations) => declarations.leaks);
for (const leak of leaks) console.error(`${leak}: the declaration says any`);
console.log(`declarations: ${reached.size} files reached, ${leaks.length} leaks`);
process.exitCode = leaks.length > 0 ? 1 : 0;
