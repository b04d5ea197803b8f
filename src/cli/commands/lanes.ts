import type { Command } from 'commander';
import { LaneheadError } from '../../core/errors.js';
import type { HeldDecision, HeldResult } from '../../store/store.js';
import { databaseOption, jsonOption, unsafeDurabilityOption } from '../options.js';
import type { Column } from '../output.js';
import { printPage, type Terminal } from '../terminal.js';
import { type DatabaseFlags, writing } from '../with-store.js';

type Flags = DatabaseFlags & { readonly json?: boolean };

const DECISIONS: readonly (readonly [HeldDecision, string])[] = [
  ['retry', 'run it again, with its whole budget; its lane waits for it'],
  ['skip', 'end it as skipped; its lane goes on'],
  ['end', 'end it as dead; its lane goes on'],
];

export function addLaneCommands(program: Command, terminal: Terminal): void {
  const lanes = program
    .command('lanes')
    .description('decide on work that holds its lane (events list --state held)');
  for (const [decision, description] of DECISIONS) {
    lanes
      .command(decision)
      .description(description)
      .argument('<event>', 'evt_…')
      .addOption(databaseOption())
      .addOption(unsafeDurabilityOption())
      .addOption(jsonOption())
      .action((id: string, flags: Flags) => decide(terminal, id, decision, flags));
  }
}

async function decide(terminal: Terminal, id: string, decision: HeldDecision, flags: Flags): Promise<void> {
  const items = await writing(terminal, flags, async (store) => {
    const decided = await store.decideHeld(id, decision);
    if (decided.length > 0) return decided;
    const detail = await store.showEvent(id);
    if (detail === null) throw new LaneheadError('not_found', `no Event has the id ${id}`);
    const states = detail.workItems.map((item) => item.state).join(', ') || 'without work';
    throw new LaneheadError('invalid_argument', `the work of ${id} is not held; it is ${states}`);
  });
  printPage(terminal, flags.json, { items, next: null }, COLUMNS);
}

const COLUMNS: readonly Column<HeldResult>[] = [
  { title: 'WORK ITEM', value: (item) => item.workId },
  { title: 'STATE', value: (item) => item.state },
];
