import type { Command } from 'commander';
import type { ClassStats, Stats } from '../../store/store.js';
import { databaseOption, jsonOption } from '../options.js';
import { type Column, table } from '../output.js';
import { printValue, type Terminal } from '../terminal.js';
import { type DatabaseFlags, reading } from '../with-store.js';

type Flags = DatabaseFlags & { readonly exact?: boolean; readonly json?: boolean };

export function addStatsCommand(program: Command, terminal: Terminal): void {
  program
    .command('stats')
    .description('count the work of each pack by class and state')
    .option('--exact', "by the claim's own predicate instead of the readiness marks; costs the backlog")
    .addOption(databaseOption())
    .addOption(jsonOption())
    .action((flags: Flags) => stats(terminal, flags));
}

async function stats(terminal: Terminal, flags: Flags): Promise<void> {
  const found = await reading(terminal, flags, (store) => store.stats({ exact: flags.exact ?? false }));
  printValue(terminal, flags.json, found, () => table(COLUMNS, rowsOf(found)));
}

interface Row {
  readonly namespace: string;
  readonly pack: string;
  readonly generation: number;
  readonly queueClass: string;
  readonly counts: ClassStats;
}

const COUNTS = [
  ...(['ready', 'delayed', 'blocked', 'queued', 'processing', 'stale', 'held'] as const),
  ...(['completed', 'skipped', 'dead', 'coalesced', 'oldestReadyMs'] as const),
];

const COLUMNS: readonly Column<Row>[] = [
  { title: 'NAMESPACE', value: (row) => row.namespace },
  { title: 'PACK', value: (row) => row.pack },
  { title: 'GENERATION', value: (row) => row.generation },
  { title: 'CLASS', value: (row) => row.queueClass },
  ...COUNTS.map((name) => ({
    title: name === 'oldestReadyMs' ? 'OLDEST READY (MS)' : name.toUpperCase(),
    value: (row: Row) => row.counts[name],
  })),
];

const rowsOf = (found: Stats): Row[] =>
  found.packs.flatMap(({ classes, namespace, pack, generation }) =>
    Object.entries(classes).map(([queueClass, counts]) => ({
      namespace,
      pack,
      generation,
      queueClass,
      counts,
    })),
  );
