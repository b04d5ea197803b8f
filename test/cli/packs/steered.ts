/** A pack whose flows do what the type of their event says, and write down what they did into STEER_FOLDER. */
import { appendFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { definePack, type FlowContext, signatures } from 'lanehead';

const folder = process.env.STEER_FOLDER ?? '.';
const note = (line: string) => appendFileSync(join(folder, 'ledger'), `${line}\n`);

async function released(ctx: FlowContext): Promise<void> {
  while (!existsSync(join(folder, 'release'))) await sleep(10, undefined, { signal: ctx.signal });
}

export default definePack({
  name: 'steered',
  version: '1.0.0',
  routes: {
    events: {
      version: 1,
      verify: signatures.github({ secret: 'known to the test' }),
      retry: { attempts: 1 },
      materialize: (receipt) => ({
        deliveries: [
          {
            key: receipt.header('x-github-delivery'),
            events: [
              {
                type: receipt.header('x-github-event')!,
                sourceKey: (receipt.json() as { source: string }).source,
              },
            ],
          },
        ],
      }),
      flow: async (event, ctx) => {
        note(`start ${event.deliveryKey}`);
        if (event.type === 'wait') await released(ctx);
        if (event.type === 'deaf') await new Promise(() => setInterval(() => undefined, 1_000));
        if (event.type === 'stray') void Promise.reject(new Error('left behind'));
        if (event.type === 'throw') {
          setImmediate(() => {
            throw new Error('from nowhere');
          });
        }
        note(`end ${event.deliveryKey}`);
      },
    },
  },
});
