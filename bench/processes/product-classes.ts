/** The whole product as it drains a backlog under a queue profile, or as one pool, and admits urgent work meanwhile. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createLanehead, type Lanehead } from '../../src/index.js';
import { answerParent, machineMs } from '../child.js';
import { githubPack, NAMESPACE } from '../github-pack.js';
import { numberOfDelivery } from '../pushes.js';

/** `undivided`: every item is of one class that all slots may run, so that the oldest is next. */
export type PoolDivision = 'reserved' | 'default-heavy' | 'undivided';

export interface ClassedPool {
  readonly databaseUrl: string;
  readonly division: PoolDivision;
  /** Executor slots. */
  readonly workers: number;
  readonly flowMs: number;
  /** Deliveries with numbers below it were there before. */
  readonly backlog: number;
}

/** When the flow of a delivery has started, on the machine's clock. */
export interface Start {
  readonly number: number;
  readonly atMs: number;
}

/** In turn. */
export const urgentClassOf = (number: number): 'interactive' | 'default' =>
  number % 2 === 0 ? 'interactive' : 'default';

const starts: Start[] = [];
const started = new Set<number>();
let lanehead: Lanehead | null = null;

async function listen({ databaseUrl, division, workers, flowMs }: ClassedPool): Promise<number> {
  const flow = async ({ deliveryKey }: { readonly deliveryKey: string }): Promise<void> => {
    const number = numberOfDelivery(deliveryKey);
    starts.push({ number, atMs: machineMs() });
    started.add(number);
    await sleep(flowMs);
  };
  const classOf = division === 'undivided' ? () => 'default' as const : urgentClassOf;
  lanehead = createLanehead({
    packs: [githubPack(flow, (deliveryKey) => classOf(numberOfDelivery(deliveryKey)))],
    namespaces: [NAMESPACE],
    databaseUrl,
    listen: { port: 0 },
    drain: { workersPerPack: workers, queueProfile: division === 'undivided' ? 'default-heavy' : division },
  });
  return Number(new URL((await lanehead.start()).url!).port);
}

/** How many of these have not started. */
const missing = (numbers: readonly number[]): number =>
  numbers.filter((number) => !started.has(number)).length;

answerParent({ listen, missing, starts: () => starts }, () => lanehead?.stop());
