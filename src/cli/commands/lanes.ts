import type { Command } from 'commander';
import { printValue, type Terminal } from '../terminal.js';
import { actAtTerminal, addWorkActionOptions, resultLine, type WorkActionFlags } from '../work-action.js';

const DECISIONS = [
  ['retry', 'retried', 'run held work again, with its whole budget; its lane waits for it'],
  ['skip', 'skipped', 'end held work as skipped; its lane goes on'],
  ['end', 'ended', 'end held work as dead; its lane goes on'],
] as const;

export function addLaneCommands(program: Command, terminal: Terminal): void {
  const lanes = program
    .command('lanes')
    .description('decide on work that holds its lane (events list --state held, failures list)');
  for (const [decision, done, description] of DECISIONS) {
    addWorkActionOptions(lanes.command(decision).description(description)).action(
      (event: string | undefined, flags: WorkActionFlags) =>
        decideAtTerminal(terminal, decision, done, event, flags),
    );
  }
}

/** @param done what then has happened to an item */
export async function decideAtTerminal(
  terminal: Terminal,
  kind: 'retry' | 'skip' | 'end' | 'cancel',
  done: string,
  event: string | undefined,
  flags: WorkActionFlags,
): Promise<void> {
  const { result } = await actAtTerminal(terminal, kind, event, flags, async () => undefined);
  printValue(terminal, flags.json, result, () => [resultLine(result, done)]);
}
