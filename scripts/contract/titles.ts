import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { filesBelow } from './files.js';

/** A test as it stands in the source: conformance suites count where they are written, once. */
export interface TitledTest {
  readonly file: string;
  /** Titles of the blocks around it and its own, joined with ` > `. */
  readonly title: string;
  readonly clauses: readonly string[];
}

const BLOCKS = new Set(['describe', 'suite']);
const TESTS = new Set(['test', 'it']);
const SILENCED = new Set(['skip', 'todo']);
const BRACKET = /\[([A-Z]{3}-\d[^\]]*)\]/g;
const IDS = /^[A-Z]{3}-[1-9]\d*(?:, [A-Z]{3}-[1-9]\d*)*$/;

/** The ids that `[OWN-3]` or `[OWN-3, OWN-5]` in a title name. Anything else in such brackets is malformed. */
export function clausesOf(title: string): { ids: string[]; malformed: string[] } {
  const lists = [...title.matchAll(BRACKET)].map((match) => match[1]!);
  const ids = lists.filter((list) => IDS.test(list)).flatMap((list) => list.split(', '));
  return { ids: [...new Set(ids)], malformed: lists.filter((list) => !IDS.test(list)) };
}

/** `test.skipIf(x)('…')` → ['test', 'skipIf']. */
function calleeNames(callee: ts.Expression): string[] {
  if (ts.isIdentifier(callee)) return [callee.text];
  if (ts.isPropertyAccessExpression(callee)) return [...calleeNames(callee.expression), callee.name.text];
  if (ts.isCallExpression(callee) || ts.isTaggedTemplateExpression(callee)) {
    return calleeNames(ts.isCallExpression(callee) ? callee.expression : callee.tag);
  }
  return [];
}

function literalText(node: ts.Expression | undefined): string | undefined {
  if (node === undefined) return undefined;
  if (ts.isStringLiteralLike(node)) return node.text;
  if (!ts.isTemplateExpression(node)) return undefined;
  return node.head.text + node.templateSpans.map((span) => `…${span.literal.text}`).join('');
}

function kindOf(call: ts.CallExpression, title: string): 'block' | 'test' | 'silenced' | 'other' {
  const names = calleeNames(call.expression);
  if (names.some((name) => SILENCED.has(name))) return 'silenced';
  if (BLOCKS.has(names[0] ?? '')) return 'block';
  const last = call.arguments.at(-1)!;
  const ownHelper = title.startsWith('[') && (ts.isArrowFunction(last) || ts.isFunctionExpression(last));
  return TESTS.has(names[0] ?? '') || ownHelper ? 'test' : 'other';
}

/** Every test of one file, whether or not its title names a clause. */
export function testsOf(file: string, text: string): TitledTest[] {
  const found: TitledTest[] = [];
  const visit = (node: ts.Node, around: readonly string[]): void => {
    const own = ts.isCallExpression(node) ? literalText(node.arguments[0]) : undefined;
    if (!ts.isCallExpression(node) || own === undefined) {
      ts.forEachChild(node, (child) => visit(child, around));
      return;
    }
    const kind = kindOf(node, own);
    if (kind === 'silenced') return;
    const titles = kind === 'other' ? around : [...around, own];
    const title = titles.join(' > ');
    if (kind === 'test') found.push({ file, title, clauses: clausesOf(title).ids });
    ts.forEachChild(node, (child) => visit(child, titles));
  };
  visit(ts.createSourceFile(file, text, ts.ScriptTarget.ES2022, true), []);
  return found;
}

/** The tests under `test/` of the project at `root`, in file order. */
export function collectTests(root: string): TitledTest[] {
  return filesBelow(root, 'test', '.ts').flatMap((file) =>
    testsOf(file, readFileSync(join(root, file), 'utf8')),
  );
}
