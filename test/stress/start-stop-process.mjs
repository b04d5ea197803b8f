/**
 * Starts and stops a whole Lanehead again and again, over the built product, in a process in which nothing else is.
 * Its one argument is JSON: product, databaseUrl, cycles. Tells its parent what is left, before them and after each
 * tenth of them.
 */
import { createHmac } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { request } from 'node:http';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';

const { product, databaseUrl, cycles } = JSON.parse(process.argv[2]);
const { createLanehead, definePack, signatures } = await import(product);
const SECRET = 'a secret of the cycles';
const SAMPLES = 10;
/** The first cycles fill caches and compile what they use. */
const WARM_UP = 5;

let running = 0;
const pack = definePack({
  name: 'cycles',
  version: '1.0.0',
  routes: {
    events: {
      version: 1,
      verify: signatures.github({ secret: SECRET }),
      materialize: (receipt) => ({
        deliveries: [
          {
            key: receipt.header('x-github-delivery'),
            events: [{ type: 'push', sourceKey: receipt.header('x-github-delivery') }],
          },
        ],
      }),
      async flow(event, ctx) {
        running++;
        try {
          if (event.json().does === 'wait' && ctx.attempt === 1)
            await pause(60_000, undefined, { signal: ctx.signal });
        } finally {
          running--;
        }
      },
    },
  },
});

const create = () =>
  createLanehead({
    packs: [pack],
    namespaces: ['acme'],
    databaseUrl,
    poolSize: 2,
    listen: { port: 0 },
    admin: { port: 0 },
    drain: { stopGraceMs: 200 },
  });

/** On a connection of its own, so that none is kept that is not the product's. */
function push(url, delivery, does) {
  const body = JSON.stringify({ does });
  const signature = createHmac('sha256', SECRET).update(body).digest('hex');
  const headers = { 'x-github-delivery': delivery, 'x-hub-signature-256': `sha256=${signature}` };
  return new Promise((resolve, reject) => {
    const asked = request(`${url}/in/acme/cycles/events`, { method: 'POST', headers, agent: false });
    asked.on('error', reject).on('response', (response) => {
      response.resume().on('end', () => {
        if (response.statusCode === 202) resolve();
        else reject(new Error(`answered ${response.statusCode}`));
      });
    });
    asked.end(body);
  });
}

async function unlessDraining(change) {
  try {
    await change;
  } catch (error) {
    if (error.code !== 'draining') throw error;
  }
}

/** What a cycle does between start and stop; in turn. */
const CYCLES = {
  async 'runs dry'(lanehead, url, n) {
    await push(url, `dry-${n}`);
    await lanehead.drainUntilIdle();
    await lanehead.stop();
  },
  async 'stops twice with work open'(lanehead, url, n) {
    await Promise.all([push(url, `open-${n}-a`), push(url, `open-${n}-b`)]);
    await Promise.all([lanehead.stop(), lanehead.stop({ timeoutMs: 0 })]);
  },
  async 'stops a flow that would go on'(lanehead, url, n) {
    await push(url, `wait-${n}`, 'wait');
    while (running === 0) await pause(1);
    await lanehead.stop({ timeoutMs: 0 });
  },
  async 'stops in the middle of a change of packs'(lanehead, url, n) {
    await push(url, `change-${n}`);
    await Promise.all([unlessDraining(lanehead.usePacks([{ ...pack }])), lanehead.stop()]);
  },
  async 'stops while it pauses'(lanehead, url, n) {
    await push(url, `pause-${n}`);
    await lanehead.pausePack('cycles');
    await Promise.all([unlessDraining(lanehead.resumePack('cycles')), lanehead.stop()]);
  },
  async 'stops before it has started'(lanehead, starting) {
    await lanehead.stop();
    const error = await starting.catch((thrown) => thrown);
    if (error.code !== 'draining') throw new Error('it started though it was stopped');
  },
};

async function cycle(n) {
  const kinds = Object.keys(CYCLES);
  const kind = kinds[n % kinds.length];
  const lanehead = create();
  const starting = lanehead.start();
  try {
    if (kind === 'stops before it has started') return await CYCLES[kind](lanehead, starting);
    const { url } = await starting;
    // As it was left by a stop that came before its resumption.
    await lanehead.resumePack('cycles');
    await CYCLES[kind](lanehead, url, n);
  } catch (error) {
    throw new Error(`cycle ${n}, which ${kind}: ${error.stack}`);
  }
}

/** Turns of the event loop after which a handle that was destroyed is gone. */
const CLOSING_TURNS = 3;

/** What is there after a stop, and what the heap holds once everything unused is gone. */
async function sample(done) {
  for (let turn = 0; turn < CLOSING_TURNS; turn++) await nextTurn();
  const left = {
    resources: process.getActiveResourcesInfo().sort(),
    descriptors: readdirSync('/proc/self/fd').length,
    threads: readdirSync('/proc/self/task').length,
    listeners: Object.fromEntries(
      process.eventNames().map((name) => [String(name), process.listenerCount(name)]),
    ),
    running,
  };
  for (let round = 0; round < 3; round++) {
    globalThis.gc();
    await pause(1);
  }
  process.send({ done, left, heapBytes: process.memoryUsage().heapUsed });
}

for (let n = 0; n < WARM_UP * Object.keys(CYCLES).length; n++) await cycle(n);
await sample(0);
for (let n = 1; n <= cycles; n++) {
  await cycle(n + 1_000);
  if (n % Math.ceil(cycles / SAMPLES) === 0) await sample(n);
}
process.disconnect();
