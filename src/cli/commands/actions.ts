import { type Command, Option } from 'commander';
import { ACTION_KINDS } from '../../core/work.js';
import type { ActionFilter, ActionRecord } from '../../store/store.js';
import { cursorOption, databaseOption, jsonOption, limitOption } from '../options.js';
import { type Column, timeText } from '../output.js';
import { printPage, type Terminal } from '../terminal.js';
import { type DatabaseFlags, reading } from '../with-store.js';

type ListFlags = DatabaseFlags & ActionFilter & { readonly json?: boolean };

export function addActionCommands(program: Command, terminal: Terminal): void {
  program
    .command('actions')
    .description('look at what people did')
    .command('list')
    .description('the audit log, newest first')
    .addOption(new Option('--kind <kind>', 'of this kind').choices(ACTION_KINDS))
    .addOption(new Option('--status <status>', 'in this status').choices(['running', 'finished']))
    .addOption(limitOption())
    .addOption(cursorOption())
    .addOption(databaseOption())
    .addOption(jsonOption())
    .action((flags: ListFlags) => listActions(terminal, flags));
}

async function listActions(terminal: Terminal, flags: ListFlags): Promise<void> {
  const { kind, status, limit, cursor } = flags;
  const filter = {
    limit,
    ...(kind === undefined ? {} : { kind }),
    ...(status === undefined ? {} : { status }),
    ...(cursor === undefined ? {} : { cursor }),
  };
  const page = await reading(terminal, flags, (store) => store.listActions(filter));
  printPage(terminal, flags.json, page, COLUMNS);
}

const COLUMNS: readonly Column<ActionRecord>[] = [
  { title: 'ID', value: (action) => action.action },
  { title: 'WHEN', value: (action) => timeText(action.createdAt) },
  { title: 'KIND', value: (action) => action.kind },
  { title: 'STATUS', value: (action) => action.status },
  { title: 'FOUND', value: (action) => action.matched },
  { title: 'CHANGED', value: (action) => action.changed },
  { title: 'LEFT', value: (action) => action.skipped },
  { title: 'WHO', value: (action) => action.actor },
  { title: 'WHY', value: (action) => action.reason },
  { title: 'WHAT', value: (action) => action.target },
];
