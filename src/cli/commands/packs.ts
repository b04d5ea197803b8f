import type { Command } from 'commander';
import { changePackStatus } from '../../runtime/pack-status.js';
import type { InstalledPack } from '../../store/store.js';
import { databaseOption, jsonOption, namespaceOption, unsafeDurabilityOption } from '../options.js';
import type { Column } from '../output.js';
import { printPage, type Terminal } from '../terminal.js';
import { type DatabaseFlags, reading, writing } from '../with-store.js';

type Flags = DatabaseFlags & { readonly json?: boolean; readonly namespace?: readonly string[] };

export function addPackCommands(program: Command, terminal: Terminal): void {
  const packs = program.command('packs').description('look at installed packs, pause and resume them');
  packs
    .command('list')
    .description('installed packs with their incarnation and status')
    .addOption(databaseOption())
    .addOption(jsonOption())
    .action((flags: Flags) => listPacks(terminal, flags));
  const changes = [
    ['pause', 'paused', 'refuse its requests with 503, and claim none of its work'],
    ['resume', 'active', 'take it into service again'],
  ] as const;
  for (const [name, status, description] of changes) {
    packs
      .command(name)
      .description(description)
      .argument('<pack>', 'name of the pack')
      .addOption(namespaceOption('in this namespace; repeatable; default: in all of them'))
      .addOption(databaseOption())
      .addOption(unsafeDurabilityOption())
      .addOption(jsonOption())
      .action((pack: string, flags: Flags) => setStatus(terminal, pack, status, flags));
  }
}

async function listPacks(terminal: Terminal, flags: Flags): Promise<void> {
  const items = await reading(terminal, flags, (store) => store.listPacks());
  printPage(terminal, flags.json, { items, next: null }, COLUMNS);
}

async function setStatus(
  terminal: Terminal,
  name: string,
  status: 'active' | 'paused',
  flags: Flags,
): Promise<void> {
  const change = { pack: name, status, namespaces: flags.namespace };
  const items = await writing(terminal, flags, (store) => changePackStatus(store, change));
  printPage(terminal, flags.json, { items, next: null }, COLUMNS);
}

const COLUMNS: readonly Column<InstalledPack>[] = [
  { title: 'NAMESPACE', value: (installed) => installed.namespace },
  { title: 'PACK', value: (installed) => installed.pack },
  { title: 'VERSION', value: (installed) => installed.version },
  { title: 'GENERATION', value: (installed) => installed.generation },
  { title: 'STATUS', value: (installed) => installed.status },
];
