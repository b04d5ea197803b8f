import type { Command } from 'commander';
import type { SchemaStatus } from '../../store/store.js';
import { databaseOption, jsonOption, unsafeDurabilityOption } from '../options.js';
import { type Column, table, timeText } from '../output.js';
import { printValue, type Terminal } from '../terminal.js';
import { type DatabaseFlags, databaseExists, databaseUrlOf, withStore } from '../with-store.js';

type Flags = DatabaseFlags & { readonly json?: boolean };

export function addMigrateCommands(program: Command, terminal: Terminal): void {
  const migrate = program.command('migrate').description('bring the schema up to date, or look at it');
  migrate
    .command('up')
    .description('apply what is pending; safe from several processes at once')
    .addOption(databaseOption())
    .addOption(unsafeDurabilityOption())
    .addOption(jsonOption())
    .action((flags: Flags) => migrateUp(terminal, flags));
  migrate
    .command('status')
    .description('show which migrations are applied, pending, or unknown to this version')
    .addOption(databaseOption())
    .addOption(jsonOption())
    .action((flags: Flags) => migrateStatus(terminal, flags));
}

async function migrateUp(terminal: Terminal, flags: Flags): Promise<void> {
  const databaseUrl = databaseUrlOf(terminal, flags);
  const { applied } = await withStore(databaseUrl, flags.unsafeDurability ?? false, (store) =>
    store.migrate(),
  );
  printValue(terminal, flags.json, { applied }, () => [
    applied.length === 0 ? 'nothing to apply' : `applied ${applied.join(', ')}`,
  ]);
}

async function migrateStatus(terminal: Terminal, flags: Flags): Promise<void> {
  const databaseUrl = databaseUrlOf(terminal, flags);
  // A database that does not exist has what an empty one has, and is not created by looking at it.
  const looked = databaseExists(databaseUrl) ? databaseUrl : 'sqlite::memory:';
  const status = await withStore(looked, true, (store) => store.schemaStatus());
  printValue(terminal, flags.json, status, () => table(COLUMNS, rowsOf(status)));
}

interface Row {
  readonly id: string;
  readonly state: string;
}

const COLUMNS: readonly Column<Row>[] = [
  { title: 'MIGRATION', value: (row) => row.id },
  { title: 'STATE', value: (row) => row.state },
];

const rowsOf = ({ applied, pending, unknown }: SchemaStatus): Row[] => [
  ...applied.map(({ id, appliedAt }) => ({ id, state: `applied ${timeText(appliedAt)}` })),
  ...pending.map((id) => ({ id, state: 'pending' })),
  ...unknown.map(({ id, additive }) => ({ id, state: additive ? 'newer, additive' : 'newer, changing' })),
];
