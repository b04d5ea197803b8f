import { type Command, Option } from 'commander';
import { LaneheadError } from '../../core/errors.js';
import { WORK_ITEM_STATES, type WorkItemState } from '../../core/work.js';
import type { EventDetail, EventSummary, WorkItemView } from '../../store/store.js';
import { cursorOption, databaseOption, jsonOption, limitOption } from '../options.js';
import { type Column, neutralize, table, timeText } from '../output.js';
import { printPage, printValue, type Terminal } from '../terminal.js';
import { type DatabaseFlags, reading } from '../with-store.js';
import { addWorkActionOptions, type WorkActionFlags } from '../work-action.js';
import { decideAtTerminal } from './lanes.js';

interface ListFlags extends DatabaseFlags {
  readonly namespace?: string;
  readonly pack?: string;
  readonly state?: WorkItemState;
  readonly source?: string;
  readonly limit: number;
  readonly cursor?: string;
  readonly json?: boolean;
}

export function addEventCommands(program: Command, terminal: Terminal): void {
  const events = program.command('events').description('look at stored Events, cancel pending ones');
  events
    .command('list')
    .description('Events in the order they arrived')
    .option('--namespace <name>', 'of this namespace')
    .option('--pack <name>', 'of this pack')
    .addOption(new Option('--state <state>', 'whose work is in this state').choices(WORK_ITEM_STATES))
    .option('--source <key>', 'of this source')
    .addOption(limitOption())
    .addOption(cursorOption())
    .addOption(databaseOption())
    .addOption(jsonOption())
    .action((flags: ListFlags) => listEvents(terminal, flags));
  events
    .command('show')
    .description('one Event and its work')
    .argument('<id>', 'evt_…')
    .addOption(databaseOption())
    .addOption(jsonOption())
    .action((id: string, flags: DatabaseFlags & { json?: boolean }) => showEvent(terminal, id, flags));
  addWorkActionOptions(
    events.command('cancel').description('end pending work as skipped before it runs; its lane goes on'),
  ).action((event: string | undefined, flags: WorkActionFlags) =>
    decideAtTerminal(terminal, 'cancel', 'cancelled', event, flags),
  );
}

async function listEvents(terminal: Terminal, flags: ListFlags): Promise<void> {
  const { namespace, pack, state, source, limit, cursor } = flags;
  const filter = {
    limit,
    ...(namespace === undefined ? {} : { namespace }),
    ...(pack === undefined ? {} : { pack }),
    ...(state === undefined ? {} : { state }),
    ...(source === undefined ? {} : { sourceKey: source }),
    ...(cursor === undefined ? {} : { cursor }),
  };
  const page = await reading(terminal, flags, (store) => store.listEvents(filter));
  printPage(terminal, flags.json, page, COLUMNS);
}

const COLUMNS: readonly Column<EventSummary & { readonly state: WorkItemState | null }>[] = [
  { title: 'ID', value: (event) => event.id },
  { title: 'RECEIVED', value: (event) => timeText(event.receivedAt) },
  { title: 'NAMESPACE', value: (event) => event.namespace },
  { title: 'PACK', value: (event) => event.pack },
  { title: 'TYPE', value: (event) => event.type },
  { title: 'SOURCE', value: (event) => event.sourceKey },
  { title: 'STATE', value: (event) => event.state },
];

async function showEvent(
  terminal: Terminal,
  id: string,
  flags: DatabaseFlags & { readonly json?: boolean },
): Promise<void> {
  const detail = await reading(terminal, flags, (store) => store.showEvent(id));
  if (detail === null) throw new LaneheadError('not_found', `no Event has the id ${id}`);
  printValue(terminal, flags.json, detail, () => readable(detail));
}

function readable({ event, childId, workItems }: EventDetail): string[] {
  const shown = { ...event, childId, receivedAt: timeText(event.receivedAt) };
  const width = Math.max(...Object.keys(shown).map((name) => name.length));
  const lines = Object.entries(shown).map(
    ([name, value]) => `${name.padEnd(width)}  ${value === null ? '-' : neutralize(String(value))}`,
  );
  return [...lines, '', ...table(WORK_COLUMNS, workItems)];
}

const WORK_COLUMNS: readonly Column<WorkItemView>[] = [
  { title: 'WORK ITEM', value: (item) => item.workId },
  { title: 'TYPE', value: (item) => item.workType },
  { title: 'STATE', value: (item) => item.state },
  { title: 'ATTEMPT', value: (item) => item.attempt },
  { title: 'FAILURES', value: (item) => item.failures },
  { title: 'RUN AFTER', value: (item) => timeText(item.runAfter) },
  { title: 'LEASE UNTIL', value: (item) => timeText(item.leaseUntil) },
  { title: 'LAST ERROR', value: ({ lastError }) => lastError && `${lastError.code}: ${lastError.message}` },
];
