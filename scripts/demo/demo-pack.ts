import { setTimeout as sleep } from 'node:timers/promises';
import { definePack, type Pack, signatures } from 'lanehead';
import { type Payload, sourceOf } from './deliveries.js';
import type { OrderLedger } from './order-ledger.js';

/** One delivery of this many fails at first, so that lanes are seen to wait for a retry. */
const FAILING_EVERY = 29;
const RETRY_MS = 20;

/** A pack in which each webhook is one Event, whose flow takes a moment and writes down when it starts. */
export function demoPack(secret: string, ledger: OrderLedger): Pack {
  return definePack({
    name: 'github',
    version: '1.0.0',
    routes: {
      events: {
        version: 1,
        verify: signatures.github({ secret }),
        ordering: 'source',
        materialize: (receipt) => ({
          deliveries: [
            {
              key: receipt.header('x-github-delivery'),
              events: [
                {
                  type: receipt.header('x-github-event') ?? 'unknown',
                  sourceKey: sourceOf(receipt.json() as Payload),
                },
              ],
            },
          ],
        }),
        flow: async (event, ctx) => {
          const end = ledger.started(event.sourceKey, event.deliveryKey);
          try {
            const number = Number(event.deliveryKey.split('-').at(-1));
            await sleep(number % 4);
            if (number % FAILING_EVERY === 0 && ctx.attempt === 1) ctx.retryAfter(RETRY_MS);
          } finally {
            end();
          }
        },
      },
    },
  });
}
