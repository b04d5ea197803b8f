/** npm run demo [-- --json]: real webhooks through the whole product, in a moment, on nothing but Node. */
import { mkdtempSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DemoResult, runDemo } from './run-demo.js';

const asJson = process.argv.includes('--json');
const isLive = !asJson && process.stdout.isTTY === true;

const folder = mkdtempSync(join(tmpdir(), 'lanehead-demo-'));
// However it ends: by itself, by a failure, by Ctrl-C.
process.on('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => process.exit(128 + constants.signals[signal]));
}

function print(result: DemoResult): void {
  const { sent, accepted, duplicates, events, completed, dead, orderViolations, starts } = result;
  const rows: readonly (readonly [string, string])[] = [
    ['sent', `${sent} requests over ${result.connections} connections`],
    ['accepted', `${accepted} as new, ${duplicates} as duplicates`],
    ['events', `${events} of ${result.repositories} repositories: ${completed} completed, ${dead} dead`],
    ['order', `${orderViolations} violations in ${starts} starts of a flow, retries included`],
    ['time', `${result.ms} ms`],
  ];
  for (const [title, text] of rows) console.log(`${title.padEnd(10)}${text}`);
}

let total = 0;
const result = await runDemo(folder, {
  sending(count) {
    total = count;
    if (!asJson) console.log(`sending ${count} signed GitHub webhooks to a server on a new SQLite file …`);
  },
  completed(count) {
    if (isLive) process.stdout.write(`\rcompleted ${count} of ${total}`);
  },
});
if (isLive) process.stdout.write('\r\x1b[K');
if (asJson) console.log(JSON.stringify(result));
else print(result);
const isRight = result.orderViolations === 0 && result.completed === result.events;
process.exitCode = isRight ? 0 : 1;
