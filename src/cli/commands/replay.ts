import { type Command, InvalidArgumentError, Option } from 'commander';
import { WORK_ITEM_STATES, type WorkItemState } from '../../core/work.js';
import { printValue, type Terminal } from '../terminal.js';
import { actAtTerminal, addWorkActionOptions, resultLine, type WorkActionFlags } from '../work-action.js';

export function addReplayCommand(program: Command, terminal: Terminal): void {
  addWorkActionOptions(
    program.command('replay').description('run ended work once more, as new Events; an item has one child'),
  )
    .addOption(
      new Option(
        '--state <states>',
        'with several Events: dead, skipped, coalesced or completed, by comma; with --fingerprint: dead',
      ).argParser(states),
    )
    .action((event: string | undefined, flags: WorkActionFlags) => replay(terminal, event, flags));
}

function states(text: string): readonly WorkItemState[] {
  const names = text.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !WORK_ITEM_STATES.includes(name as WorkItemState));
  if (unknown !== undefined) throw new InvalidArgumentError(`${unknown} is no state.`);
  return names as WorkItemState[];
}

async function replay(terminal: Terminal, event: string | undefined, flags: WorkActionFlags): Promise<void> {
  const { result, answer: child } = await actAtTerminal(terminal, 'replay', event, flags, async (store) => {
    return event === undefined ? undefined : ((await store.showEvent(event))?.childId ?? null);
  });
  const { action, matched, changed: created, skipped, dryRun } = result;
  const ofOne = child === undefined ? {} : { child };
  printValue(terminal, flags.json, { action, matched, created, skipped, dryRun, ...ofOne }, () => [
    resultLine(result, 'replayed'),
    ...(child ? [`its child is ${child}`] : []),
  ]);
}
