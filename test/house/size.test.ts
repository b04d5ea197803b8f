import ts from 'typescript';
import { describe, expect, test } from 'vitest';
import { parse, projectFiles, sourceText, walk } from './sources.js';

const FILE_LINES = 400;
const FUNCTION_LINES = 80;
/** Longer than this is printed, so that it is seen before it grows. */
const LONG_FUNCTION_LINES = 60;

interface Length {
  readonly name: string;
  readonly lines: number;
}

function functionLengths(file: string): Length[] {
  const source = parse(file);
  const lengths: Length[] = [];
  walk(source, (node) => {
    if (!ts.isFunctionLike(node) || !('body' in node) || !node.body) return;
    const first = source.getLineAndCharacterOfPosition(node.getStart()).line;
    const last = source.getLineAndCharacterOfPosition(node.getEnd()).line;
    lengths.push({ name: `${file}:${first + 1}`, lines: last - first + 1 });
  });
  return lengths;
}

const readable = ({ name, lines }: Length): string => `${name} has ${lines} lines`;

describe('size', () => {
  test(`no file is longer than ${FILE_LINES} lines`, () => {
    const lengths = projectFiles('', '.ts').map((file) => ({
      name: file,
      lines: sourceText(file).split('\n').length - 1,
    }));
    expect(lengths.filter((length) => length.lines > FILE_LINES).map(readable)).toEqual([]);
  });

  test(`no function of the product is longer than ${FUNCTION_LINES} lines`, () => {
    const files = [...projectFiles('src/', '.ts'), ...projectFiles('scripts/', '.ts')];
    const long = files.flatMap(functionLengths).filter((length) => length.lines > LONG_FUNCTION_LINES);
    for (const length of long) console.warn(`long function: ${readable(length)}`);
    expect(long.filter((length) => length.lines > FUNCTION_LINES).map(readable)).toEqual([]);
  });
});
