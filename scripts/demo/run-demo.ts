import { join } from 'node:path';
import { createLanehead, type Lanehead, type Stats } from 'lanehead';
import { bySource, realDeliveries, syntheticDeliveries } from './deliveries.js';
import { demoPack } from './demo-pack.js';
import { OrderLedger } from './order-ledger.js';
import { sendAll } from './sender.js';

export interface DemoResult {
  readonly sent: number;
  readonly accepted: number;
  readonly duplicates: number;
  readonly events: number;
  readonly completed: number;
  readonly dead: number;
  /** Flow starts that were not in the order of sending of their repository, or beside another one of it. */
  readonly orderViolations: number;
  /** Runs of flows, retries included. */
  readonly starts: number;
  readonly repositories: number;
  readonly connections: number;
  /** From the first request until nothing was left to do. */
  readonly ms: number;
}

/** What is told on the way. */
export interface DemoObserver {
  sending(count: number): void;
  completed(count: number): void;
}

const CONNECTIONS = 8;
const DRAIN_TIMEOUT_MS = 300_000;
const LOOK_EVERY_MS = 100;

/** @param folder for the database file; the caller removes it */
export async function runDemo(folder: string, observer: DemoObserver): Promise<DemoResult> {
  const ledger = new OrderLedger();
  const secret = 'known to the sender and to the pack';
  const lanehead = createLanehead({
    packs: [demoPack(secret, ledger)],
    databaseUrl: `sqlite:${join(folder, 'demo.db')}`,
    namespaces: ['demo'],
    listen: { port: 0 },
  });
  try {
    const { url } = await lanehead.start();
    const deliveries = [...realDeliveries(), ...syntheticDeliveries(30, 12)];
    observer.sending(deliveries.length);
    const startedMs = performance.now();
    const target = { url: `${url}/in/demo/github/events`, secret, connections: CONNECTIONS, ledger };
    const { sent, counts } = await watched(lanehead, observer, async () => ({
      sent: await sendAll(deliveries, target),
      counts: countsOf(await lanehead.drainUntilIdle({ timeoutMs: DRAIN_TIMEOUT_MS })),
    }));
    const ms = Math.round(performance.now() - startedMs);
    return {
      ...sent,
      ...counts,
      orderViolations: ledger.violations,
      starts: ledger.starts,
      repositories: bySource(deliveries).size,
      connections: CONNECTIONS,
      ms,
    };
  } finally {
    await lanehead.stop({ timeoutMs: 1_000 });
  }
}

/** Flows run while webhooks still come in; the observer hears of both. */
async function watched<T>(lanehead: Lanehead, observer: DemoObserver, work: () => Promise<T>): Promise<T> {
  const timer = setInterval(() => {
    lanehead.stats().then(
      (stats) => observer.completed(countsOf(stats).completed),
      () => undefined,
    );
  }, LOOK_EVERY_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}

function countsOf(stats: Stats): { completed: number; dead: number } {
  const classes = stats.packs.flatMap((pack) => Object.values(pack.classes));
  return {
    completed: classes.reduce((sum, counts) => sum + counts.completed, 0),
    dead: classes.reduce((sum, counts) => sum + counts.dead, 0),
  };
}
