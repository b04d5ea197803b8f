import type { Command } from 'commander';
import type { ServeFlags } from '../configuration.js';
import { addServeOptions, DEV_DATABASE_URL } from '../options.js';
import { listenForStop } from '../stop-signals.js';
import type { Terminal } from '../terminal.js';

/** `serve` and `dev`. What they run on is loaded when they run: the other commands start without it. */
export function addServeCommands(program: Command, terminal: Terminal): void {
  addServeOptions(program.command('serve').description('receive webhooks and run the work they cause'))
    .option('--json', 'where it listens as the first line of stdout; failures as JSON on stderr')
    .action(async (files: string[], flags: ServeFlags & { readonly json?: boolean }) => {
      const signals = listenForStop();
      const { serve } = await import('../serve.js');
      await serve(terminal, files, flags, signals);
    });
  addServeOptions(
    program
      .command('dev')
      .description(
        'serve in namespace dev, on a database of its own; take a changed pack file in without a stop',
      ),
    DEV_DATABASE_URL,
  ).action(async (files: string[], flags: ServeFlags) => {
    const signals = listenForStop();
    const { dev } = await import('../dev.js');
    await dev(terminal, files, flags, signals);
  });
}
