import { posix } from 'node:path';
import ts from 'typescript';
import { parse, projectFiles, sourceText, walk } from './sources.js';

/** What a room may reach for: paths below `src` without extension, and npm packages. */
export interface Room {
  readonly name: string;
  /** Declared to have no files yet. */
  readonly empty: boolean;
  readonly mayImport: readonly string[];
  readonly packages: readonly string[];
}

export interface Arrow {
  readonly file: string;
  /** A path below `src` without extension, or the name of a package. */
  readonly target: string;
  readonly isPackage: boolean;
}

const HEADING = '## Allowed imports';

const words = (cell: string): string[] => [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1]!);

/** Reads the table under "Allowed imports": room, what it may import, which packages. */
export function readRooms(markdown: string): Room[] {
  const section = markdown.split(HEADING)[1]?.split('\n## ')[0] ?? '';
  const rows = section.split('\n').filter((line) => /^\| `/.test(line));
  return rows.map((row) => {
    const [room = '', mayImport = '', packages = ''] = row.split('|').slice(1);
    const name = words(room)[0]!;
    return {
      name,
      empty: /\bempty\b/.test(mayImport),
      mayImport: words(mayImport),
      packages: words(packages),
    };
  });
}

export const isWithin = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(`${folder}/`);

/** The room a path below `src` belongs to: the longest name that holds it. */
export function roomOf(path: string, rooms: readonly Room[]): Room | undefined {
  const holding = rooms.filter((room) => isWithin(path, room.name));
  return holding.sort((a, b) => b.name.length - a.name.length)[0];
}

/** `src/core/ids.ts` → `core/ids` */
export const pathOf = (file: string): string => file.replace(/^src\//, '').replace(/\.[cm]?[jt]sx?$/, '');

/** Specifiers of imports, exports, import() and `new URL('./worker.js', import.meta.url)`; types count too. */
function specifiersOf(source: ts.SourceFile): string[] {
  const found: string[] = [];
  const add = (node: ts.Node | undefined) => {
    if (node && ts.isStringLiteralLike(node)) found.push(node.text);
  };
  walk(source, (node) => {
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) add(node.moduleSpecifier);
    else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) add(node.argument.literal);
    else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      add(node.arguments[0]);
    } else if (
      ts.isNewExpression(node) &&
      node.expression.getText() === 'URL' &&
      node.arguments?.length === 2
    ) {
      if (node.arguments[1]?.getText() === 'import.meta.url') add(node.arguments[0]);
    }
  });
  return found;
}

const packageName = (specifier: string): string =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');

export function arrowsOf(file: string): Arrow[] {
  const specifiers = specifiersOf(parse(file)).filter((specifier) => !specifier.startsWith('node:'));
  return specifiers.map((specifier) =>
    specifier.startsWith('.')
      ? { file, target: pathOf(posix.join(posix.dirname(file), specifier)), isPackage: false }
      : { file, target: packageName(specifier), isPackage: true },
  );
}

function isAllowed(arrow: Arrow, room: Room, rooms: readonly Room[]): boolean {
  if (arrow.isPackage) return room.packages.includes(arrow.target);
  if (roomOf(arrow.target, rooms)?.name === room.name) return true;
  return room.mayImport.some((allowed) => isWithin(arrow.target, allowed));
}

/** Arrows that no row of the table allows, and files that stand in no room. */
export function forbiddenArrows(rooms: readonly Room[], files: readonly string[]): string[] {
  return files.flatMap((file) => {
    const room = roomOf(pathOf(file), rooms);
    if (!room) return [`${file} stands in no room of the table`];
    const wrong = arrowsOf(file).filter((arrow) => !isAllowed(arrow, room, rooms));
    return wrong.map((arrow) => `${file} → ${arrow.target}: not allowed for ${room.name}`);
  });
}

function staleParts(room: Room, files: readonly string[]): string[] {
  if (room.empty) return files.length > 0 ? [`${room.name} is called empty and has ${files[0]}`] : [];
  if (files.length === 0) return [`${room.name} has no files`];
  const arrows = files.flatMap(arrowsOf);
  const unused = (allowed: string, isPackage: boolean) =>
    !arrows.some((arrow) => arrow.isPackage === isPackage && isWithin(arrow.target, allowed));
  return [
    ...room.mayImport.filter((allowed) => unused(allowed, false)),
    ...room.packages.filter((allowed) => unused(allowed, true)),
  ].map((allowed) => `${room.name} → ${allowed}: allowed, and no file uses it`);
}

/** Rows, or entries of rows, that describe nothing. */
export function staleRows(rooms: readonly Room[], files: readonly string[]): string[] {
  return rooms.flatMap((room) =>
    staleParts(
      room,
      files.filter((file) => roomOf(pathOf(file), rooms)?.name === room.name),
    ),
  );
}

export const productFiles = (): string[] => projectFiles('src/', '.ts');
export const declaredRooms = (): Room[] => readRooms(sourceText('ARCHITECTURE.md'));
