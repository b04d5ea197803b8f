/** What the house must not grow, as rules about its sources and its schema. */
import Sqlite from 'better-sqlite3';
import ts from 'typescript';
import { describe, expect, test } from 'vitest';
import { signatures } from '../../src/packs/signatures.js';
import { MIGRATIONS } from '../../src/store/migrations/index.js';
import { parse, projectFiles, walk } from './sources.js';

const CORE_ROOMS = ['scheduler', 'store', 'executor', 'supervisor'];
const coreFiles = CORE_ROOMS.flatMap((room) => projectFiles(`src/${room}/`, '.ts'));

const isAssignment = (kind: ts.SyntaxKind): boolean =>
  kind >= ts.SyntaxKind.FirstAssignment && kind <= ts.SyntaxKind.LastAssignment;

const BUDGET = /^processingBudget$|^maxProcessingRows$/;

/** A constant, a name, or a way through objects to one: a value handed on as it came. */
const isHandedOn = (node: ts.Expression): boolean =>
  ts.isNumericLiteral(node) ||
  ts.isIdentifier(node) ||
  (ts.isPropertyAccessExpression(node) && !ts.isCallExpression(node.expression));

/** What is wrong about a node that gives a budget its value: a change after the fact, or a calculation. */
function adapts(node: ts.Node): boolean {
  if (ts.isPropertyAssignment(node)) return BUDGET.test(node.name.getText()) && !isHandedOn(node.initializer);
  if (!ts.isBinaryExpression(node) || !isAssignment(node.operatorToken.kind)) return false;
  const target = ts.isPropertyAccessExpression(node.left) ? node.left.name : node.left;
  return BUDGET.test(target.getText());
}

function columnsOf(table: string): { sqlite: string[]; mysql: string } {
  const database = new Sqlite(':memory:');
  for (const migration of MIGRATIONS) migration.sqlite.forEach((statement) => void database.exec(statement));
  const rows = database.pragma(`table_xinfo(${table})`) as { name: string }[];
  database.close();
  const mysql = MIGRATIONS.map((migration) => migration.mysql).find((text) =>
    text.includes(`EXISTS ${table} (`),
  );
  return { sqlite: rows.map((row) => row.name), mysql: mysql ?? '' };
}

function expectColumns(table: string, columns: readonly string[]): void {
  const { sqlite, mysql } = columnsOf(table);
  expect(sqlite).toEqual(expect.arrayContaining([...columns]));
  expect(columns.filter((column) => !new RegExp(`^\\s*${column} `, 'm').test(mysql))).toEqual([]);
}

describe('non-goals', () => {
  test('[NGO-1] the processing budget is handed on as configured; nothing adapts it', () => {
    const adapted = coreFiles.flatMap((file) => {
      const found: string[] = [];
      walk(parse(file), (node) => {
        if (adapts(node)) found.push(`${file}: ${node.getText()}`);
      });
      return found;
    });
    expect(adapted).toEqual([]);
  });

  test('[NGO-2] a target key comes from materialize and from nowhere else', () => {
    const makers = projectFiles('src/', '.ts').flatMap((file) => {
      const calls: string[] = [];
      walk(parse(file), (node) => {
        if (!ts.isCallExpression(node) || node.expression.getText() !== 'targetLaneKey') return;
        calls.push(`${file}: ${node.parent.getText()}`);
      });
      return calls;
    });
    expect(makers).toEqual([
      'src/packs/event-draft.ts: targetKey === null ? null : targetLaneKey(scope, targetKey)',
    ]);
  });

  test('[NGO-3] the SchedulerLease table keeps its published columns', () => {
    expectColumns('_System_SchedulerLease', [
      'LeaseKey',
      'Holder',
      'Token',
      'Epoch',
      'LeaseUntil',
      'UpdatedDate',
    ]);
  });

  test('[NGO-4] scheduler, store, executor and supervisor name no provider', () => {
    const generic = ['basic', 'hmac', 'standardWebhooks'];
    const providers = Object.keys(signatures).filter((name) => !generic.includes(name));
    const pattern = new RegExp(`\\b(?:${providers.join('|')})\\b`, 'i');
    const named = coreFiles.flatMap((file) => {
      const found: string[] = [];
      walk(parse(file), (node) => {
        const isWord =
          ts.isIdentifier(node) || ts.isStringLiteralLike(node) || ts.isTemplateLiteralToken(node);
        // `import.meta` is the language's, not the provider's.
        if (!isWord || ts.isMetaProperty(node.parent)) return;
        const words = node.text.replace(/([a-z])([A-Z])/g, '$1 $2').replaceAll(/[_-]/g, ' ');
        if (pattern.test(node.text) || pattern.test(words)) found.push(`${file}: ${node.text}`);
      });
      return found;
    });
    expect(named).toEqual([]);
  });

  test('[NGO-5] the Event keeps every executor column that older binaries write', () => {
    expectColumns('_System_ConnectorEvent', [
      'Status',
      'Attempt',
      'NextRetryDate',
      'ClaimToken',
      'ClaimedBy',
      'ClaimedDate',
      'ProcessedDate',
      'LastError',
      'ReplayedAt',
      'ExecutionOwner',
    ]);
  });
});
