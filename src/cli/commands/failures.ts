import type { Command } from 'commander';
import type { FailureGroup } from '../../store/store.js';
import { cursorOption, databaseOption, jsonOption, limitOption } from '../options.js';
import { type Column, timeText } from '../output.js';
import { printPage, type Terminal } from '../terminal.js';
import { type DatabaseFlags, reading } from '../with-store.js';

interface ListFlags extends DatabaseFlags {
  readonly namespace?: string;
  readonly pack?: string;
  readonly limit: number;
  readonly cursor?: string;
  readonly json?: boolean;
}

export function addFailureCommands(program: Command, terminal: Terminal): void {
  program
    .command('failures')
    .description('look at dead and held work')
    .command('list')
    .description('what nobody has decided on yet, in groups of one cause each')
    .option('--namespace <name>', 'of this namespace')
    .option('--pack <name>', 'of this pack')
    .addOption(limitOption())
    .addOption(cursorOption())
    .addOption(databaseOption())
    .addOption(jsonOption())
    .action((flags: ListFlags) => listFailures(terminal, flags));
}

async function listFailures(terminal: Terminal, flags: ListFlags): Promise<void> {
  const { namespace, pack, limit, cursor } = flags;
  const filter = {
    limit,
    ...(namespace === undefined ? {} : { namespace }),
    ...(pack === undefined ? {} : { pack }),
    ...(cursor === undefined ? {} : { cursor }),
  };
  const page = await reading(terminal, flags, (store) => store.listFailures(filter));
  printPage(terminal, flags.json, page, COLUMNS);
}

const COLUMNS: readonly Column<FailureGroup>[] = [
  { title: 'FINGERPRINT', value: (group) => group.fingerprint },
  { title: 'COUNT', value: (group) => group.count },
  { title: 'NAMESPACE', value: (group) => group.namespace },
  { title: 'PACK', value: (group) => group.pack },
  { title: 'ROUTE', value: (group) => group.route },
  { title: 'FIRST', value: (group) => timeText(group.firstAt) },
  { title: 'LAST', value: (group) => timeText(group.lastAt) },
  { title: 'SAMPLE', value: (group) => group.sampleId },
  { title: 'ERROR', value: ({ code, message }) => `${code}: ${message}` },
];
