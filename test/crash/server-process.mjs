/**
 * A serving process for the crash tests, over the built product. Its one argument is a `ServerSpec` as JSON
 * (test/support/crash-process.ts). It tells its parent how far it is over the channel, and writes what its flows do
 * to a file that survives it. It ends with its parent.
 */
import { existsSync, openSync, writeSync } from 'node:fs';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import { watchPermits } from './permit-watch.mjs';

const spec = JSON.parse(process.argv[2]);
const { createLanehead, definePack, signatures } = await import(spec.product);
const LONGEST_WAIT_MS = 120_000;

/** One clock for all processes of the machine, that nobody sets. */
const monotonicMs = () => Number(process.hrtime.bigint() / 1_000_000n);

const tell = (kind, fields = {}) => process.send?.({ kind, ...fields });

// One write call, in append mode, with line ends on both sides: a kill leaves a whole line or a torn one that no
// other line runs into.
const ledger = openSync(spec.ledger, 'a');
const record = (line) => writeSync(ledger, `\n${JSON.stringify(line)}\n`);

/** What the event asks its flow to do; files are the signals, because a blocked loop hears nothing else. */
const BEHAVIOURS = {
  wait: ({ ms }) => pause(ms),
  async gate({ path }, signal) {
    for (let waited = 0; waited < LONGEST_WAIT_MS && !existsSync(path); waited += 10) {
      if (signal.aborted) throw signal.reason;
      await pause(10);
    }
  },
  /** Blocks the event loop until the file is there. */
  block: ({ path }) => busy(() => existsSync(path), LONGEST_WAIT_MS),
  /** Blocks the event loop again and again, and lets it turn in between. */
  async bursts({ path, ms }) {
    for (let waited = 0; waited < LONGEST_WAIT_MS && !existsSync(path); waited += ms) {
      busy(() => false, ms);
      await pause(0);
      await nextTurn();
    }
  },
};

function busy(isOver, atMostMs) {
  for (const until = Date.now() + atMostMs; Date.now() < until && !isOver(); );
}

async function flow(event, ctx) {
  const run = { item: `${event.deliveryKey}/${event.ordinal}`, epoch: ctx.epoch, process: spec.name };
  record({ kind: 'started', ...run, at: monotonicMs() });
  const behaviour = event.json().behaviour ?? spec.behaviour;
  try {
    await BEHAVIOURS[behaviour?.kind]?.(behaviour, ctx.signal);
  } catch (error) {
    record({ kind: 'ended', how: 'aborted', ...run, at: monotonicMs() });
    throw error;
  }
  const later = behaviour?.kind === 'retry' && ctx.attempt === 1;
  record({ kind: 'ended', how: later ? 'aborted' : 'finished', ...run, at: monotonicMs() });
  if (later) ctx.retryAfter(behaviour.ms);
}

/** Holds what was claimed before any flow of it runs. */
async function batchRead(events, ctx) {
  tell('claimed', { events: events.length });
  await BEHAVIOURS.gate(spec.batchRead, ctx.signal);
}

const pack = definePack({
  name: 'crash',
  version: '1.0.0',
  ...(spec.limits === undefined ? {} : { limits: spec.limits }),
  routes: {
    events: {
      version: 1,
      verify: signatures.github({ secret: spec.secret }),
      materialize: (receipt) => ({
        deliveries: [
          {
            key: receipt.header('x-github-delivery'),
            events: receipt.json().events.map((event) => ({
              type: 'push',
              sourceKey: event.source,
              payload: JSON.stringify(event),
            })),
          },
        ],
      }),
      retry: { attempts: 1_000, baseMs: 1, maxMs: 10 },
      ...(spec.batchRead === undefined ? {} : { batchRead }),
      flow,
    },
  },
});

if (spec.watchPermits) await watchPermits(new URL('scheduler/', `file://${spec.product}`), tell);

const lanehead = createLanehead({
  packs: [pack],
  namespaces: ['acme'],
  databaseUrl: spec.databaseUrl,
  role: spec.role,
  drain: spec.drain,
  poolSize: spec.poolSize,
  maxBodyBytes: spec.maxBodyBytes,
  ...(spec.role === 'worker' ? {} : { listen: { port: 0 } }),
  logger: pino({ level: 'warn' }, { write: (line) => tell('log', JSON.parse(line)) }),
});

async function stop() {
  await lanehead.stop({ timeoutMs: spec.stopMs });
  process.exit(0);
}

process.on('SIGTERM', () => void stop());
process.on('disconnect', () => process.exit(1));
process.on('message', async (message) => {
  if (message.kind === 'go') return go();
  const stats = await lanehead.drainUntilIdle({ timeoutMs: LONGEST_WAIT_MS });
  tell('drained', { stats });
});

let go;
if (spec.standby) {
  tell('standby');
  await new Promise((resolve) => {
    go = resolve;
  });
}
tell('starting');
const { url } = await lanehead.start();
tell('serving', { url });
