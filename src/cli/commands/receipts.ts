import { type Command, Option } from 'commander';
import { LaneheadError } from '../../core/errors.js';
import { idMaker } from '../../core/ids.js';
import { systemClock, systemRandom } from '../../core/system.js';
import type { ReceiptSummary } from '../../store/store.js';
import {
  collect,
  cursorOption,
  databaseOption,
  jsonOption,
  limitOption,
  unsafeDurabilityOption,
} from '../options.js';
import { type Column, timeText } from '../output.js';
import { quarantined, type Rematerialized, rematerialize } from '../rematerialize.js';
import { printPage, type Terminal } from '../terminal.js';
import { type DatabaseFlags, reading, writing } from '../with-store.js';

interface ListFlags extends DatabaseFlags {
  readonly status?: 'materialized' | 'quarantined';
  readonly namespace?: string;
  readonly pack?: string;
  readonly limit: number;
  readonly cursor?: string;
  readonly json?: boolean;
}

interface RematerializeFlags extends DatabaseFlags {
  readonly receipt?: readonly string[];
  readonly namespace?: string;
  readonly json?: boolean;
}

export function addReceiptCommands(program: Command, terminal: Terminal): void {
  const receipts = program
    .command('receipts')
    .description('look at stored requests, take them out of quarantine');
  receipts
    .command('list')
    .description('requests in the order they arrived')
    .addOption(new Option('--status <status>', 'in this status').choices(['materialized', 'quarantined']))
    .option('--namespace <name>', 'of this namespace')
    .option('--pack <name>', 'of this pack')
    .addOption(limitOption())
    .addOption(cursorOption())
    .addOption(databaseOption())
    .addOption(jsonOption())
    .action((flags: ListFlags) => listReceipts(terminal, flags));
  receipts
    .command('rematerialize')
    .description('run materialize of these packs again on what is in quarantine, after a fix')
    .argument('<pack-file...>', 'the corrected packs')
    .option('--receipt <id>', 'this one; repeatable; default: all of these packs', collect)
    .option('--namespace <name>', 'of this namespace')
    .addOption(databaseOption())
    .addOption(unsafeDurabilityOption())
    .addOption(jsonOption())
    .action((files: string[], flags: RematerializeFlags) => rematerializeAll(terminal, files, flags));
}

async function listReceipts(terminal: Terminal, flags: ListFlags): Promise<void> {
  const { status, namespace, pack, limit, cursor } = flags;
  const filter = {
    limit,
    ...(status === undefined ? {} : { status }),
    ...(namespace === undefined ? {} : { namespace }),
    ...(pack === undefined ? {} : { pack }),
    ...(cursor === undefined ? {} : { cursor }),
  };
  const page = await reading(terminal, flags, (store) => store.listReceipts(filter));
  printPage(terminal, flags.json, page, COLUMNS);
}

const COLUMNS: readonly Column<ReceiptSummary>[] = [
  { title: 'ID', value: (receipt) => receipt.id },
  { title: 'RECEIVED', value: (receipt) => timeText(receipt.receivedAt) },
  { title: 'NAMESPACE', value: (receipt) => receipt.namespace },
  { title: 'PACK', value: (receipt) => receipt.pack },
  { title: 'ROUTE', value: (receipt) => receipt.route },
  { title: 'STATUS', value: (receipt) => receipt.status },
  { title: 'EVENTS', value: (receipt) => receipt.events },
  { title: 'BYTES', value: (receipt) => receipt.bodyBytes },
  { title: 'ERROR', value: ({ error }) => error && `${error.code}: ${error.message}` },
];

async function rematerializeAll(
  terminal: Terminal,
  files: readonly string[],
  flags: RematerializeFlags,
): Promise<void> {
  const { packLoader } = await import('../pack-loader.js');
  const packs = await packLoader().load(files);
  const newId = idMaker(systemClock, systemRandom());
  const items: Rematerialized[] = [];
  try {
    await writing(terminal, flags, async (store) => {
      const ids = flags.receipt ?? (await quarantined(store, packs, flags.namespace));
      for (const id of ids) items.push(await rematerialize(store, packs, id, newId));
    });
  } finally {
    // Each receipt is a commit of its own: what was done before a failure stays done, and is told.
    printPage(terminal, flags.json, { items, next: null }, DONE_COLUMNS);
  }
  const failing = items.filter((item) => item.status === 'quarantined').length;
  if (failing > 0) {
    throw new LaneheadError(
      'invalid_pack',
      `materialize still fails for ${failing} of ${items.length} receipts`,
    );
  }
}

const DONE_COLUMNS: readonly Column<Rematerialized>[] = [
  { title: 'ID', value: (item) => item.id },
  { title: 'PACK', value: (item) => item.pack },
  { title: 'ROUTE', value: (item) => item.route },
  { title: 'STATUS', value: (item) => item.status },
  { title: 'EVENTS', value: (item) => item.events },
  { title: 'ERROR', value: ({ error }) => error && `${error.code}: ${error.message}` },
];
