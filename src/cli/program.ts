import { Command, CommanderError } from 'commander';
import { VERSION } from '../runtime/version.js';
import { addActionCommands } from './commands/actions.js';
import { addEventCommands } from './commands/events.js';
import { addFailureCommands } from './commands/failures.js';
import { addLaneCommands } from './commands/lanes.js';
import { addMigrateCommands } from './commands/migrate.js';
import { addPackCommands } from './commands/packs.js';
import { addReceiptCommands } from './commands/receipts.js';
import { addReplayCommand } from './commands/replay.js';
import { addServeCommands } from './commands/serve.js';
import { addStatsCommand } from './commands/stats.js';
import { failureOf, renderFailure, usageFailure } from './failure.js';
import type { Terminal } from './terminal.js';

/**
 * Runs one command line.
 * @returns the exit code: 0 ok, 1 failed, 2 wrong usage, 3 not found
 */
export async function runCommand(args: readonly string[], terminal: Terminal): Promise<number> {
  const help: string[] = [];
  try {
    await programOf(terminal, help).parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0;
    const failure = error instanceof CommanderError ? usageFailure(usageProblem(error)) : failureOf(error);
    const asJson = args.includes('--json');
    if (!asJson) for (const text of help) terminal.complain(text);
    terminal.complain(renderFailure(failure, asJson));
    return failure.exitCode;
  }
}

function programOf(terminal: Terminal, help: string[]): Command {
  const program = new Command('lanehead')
    .description('Durable inbound runtime for webhooks: one SQL commit, strictly ordered lanes.')
    .version(VERSION)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.print(text.trimEnd()),
      // A command line that ends too early: its help.
      writeErr: (text) => help.push(text.trimEnd()),
      outputError: () => {},
    });
  addServeCommands(program, terminal);
  addMigrateCommands(program, terminal);
  addStatsCommand(program, terminal);
  addEventCommands(program, terminal);
  addReceiptCommands(program, terminal);
  addReplayCommand(program, terminal);
  addFailureCommands(program, terminal);
  addLaneCommands(program, terminal);
  addActionCommands(program, terminal);
  addPackCommands(program, terminal);
  return program;
}

function usageProblem({ code, message }: CommanderError): string {
  return code === 'commander.help' ? 'a command is missing' : message.replace(/^error: /, '');
}
