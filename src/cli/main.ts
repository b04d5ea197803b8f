#!/usr/bin/env node
import { runCommand } from './program.js';

const written = (stream: NodeJS.WriteStream): Promise<void> =>
  new Promise((resolve) => {
    stream.write('', () => resolve());
  });

// A reader that went away (`… | head`) is no failure of the command.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});

const exitCode = await runCommand(process.argv.slice(2), {
  environment: process.env,
  print: (line) => process.stdout.write(`${line}\n`),
  complain: (line) => process.stderr.write(`${line}\n`),
  ...(process.stderr.isTTY ? { progress: (text) => process.stderr.write(`\r\u001b[K${text}`) } : {}),
});
await Promise.all([written(process.stdout), written(process.stderr)]);
// A flow that ignored its abort may still hold timers and sockets; it keeps no process alive.
process.exit(exitCode);
