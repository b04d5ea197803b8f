import { mysqlCrashDatabase } from '../support/crash-database.js';
import { CrashLoad, ended, type ScenarioOptions, type ScenarioReport } from '../support/crash-load.js';
import type { ServerProcess } from '../support/crash-process.js';
import { type ArmedFault, TcpProxy } from '../support/crash-proxy.js';

const SOURCES = 24;
const DRAIN = { leaseMs: 3_000, workersPerPack: 16 };
/** Moments of one kind in a round. */
const STRIKES = 4;
const SHORT_PARTITION_MS = 300;
const DELAY_MS = 40;
const DELAYED_ANSWERS = 10;

type Round = (broken: BrokenNetwork) => Promise<void>;

const armed =
  (fault: ArmedFault): Round =>
  (broken) =>
    broken.strike(fault);

/** One after the other, so that a few rounds have them all. */
const ROUNDS: readonly Round[] = [
  (broken) => broken.cut(),
  armed('answer of COMMIT lost'),
  armed('COMMIT lost'),
  armed('cut in a request'),
  armed('cut in a reply'),
  (broken) => broken.delay(),
  (broken) => broken.halfOpen(),
  (broken) => broken.partition(),
];

/** So many rounds have all kinds but the last one, which takes as long as the one before. */
export const NETWORK_FAULTS = ROUNDS.length - 1;

/**
 * A process that reaches its database by a network that cuts, swallows, delays and loses the answer of COMMIT, and
 * one beside it that has a good one: what the first one holds while it is cut off, the second may take over.
 * @param serverUrl default: the server of this run
 */
export async function brokenNetwork(options: ScenarioOptions, serverUrl?: string): Promise<ScenarioReport> {
  const database = await mysqlCrashDatabase(serverUrl);
  const load = new CrashLoad(database, options, { sources: SOURCES });
  const proxy = await TcpProxy.to(Number(new URL(database.url).port));
  try {
    const far = load.bench.spawn('far', { drain: DRAIN, databaseUrl: proxy.via(database.url) });
    const near = load.bench.spawn('near', { drain: { ...DRAIN, workersPerPack: 2 }, role: 'worker' });
    load.senders.pointTo(await far.url());
    await near.until('serving');
    const broken = new BrokenNetwork(load, proxy, far);
    for (const round of load.rounds()) {
      await load.busy(far);
      await ROUNDS[(round - 1) % ROUNDS.length]!(broken);
    }
    await load.finish(far);
    await ended(near);
    return await load.report();
  } finally {
    await load.close().finally(() => proxy.close());
  }
}

class BrokenNetwork {
  readonly #load: CrashLoad;
  readonly #proxy: TcpProxy;
  readonly #far: ServerProcess;

  constructor(load: CrashLoad, proxy: TcpProxy, far: ServerProcess) {
    this.#load = load;
    this.#proxy = proxy;
    this.#far = far;
  }

  async cut(): Promise<void> {
    this.#load.fault('cut', this.#proxy.cut());
    await this.#load.recovered('cut');
  }

  async strike(fault: ArmedFault): Promise<void> {
    this.#proxy.arm(fault, STRIKES);
    await this.#load.until(() => !this.#proxy.isArmed(fault), fault);
    this.#load.fault(fault, STRIKES);
    await this.#load.recovered(fault);
  }

  async delay(): Promise<void> {
    this.#proxy.delayMs = DELAY_MS;
    this.#load.fault('delay');
    await this.#load.busy(this.#far, DELAYED_ANSWERS);
    this.#proxy.delayMs = 0;
    await this.#load.recovered('delay');
  }

  /** Nothing gets through for a while, and what was under way then stays lost. */
  async partition(): Promise<void> {
    this.#proxy.partition(true);
    this.#load.fault('partition');
    await new Promise((resolve) => setTimeout(resolve, SHORT_PARTITION_MS));
    this.#proxy.partition(false);
    await this.#load.recovered('partition');
  }

  /** The connections that are open lead nowhere and do not say so; new ones work. */
  async halfOpen(): Promise<void> {
    this.#load.fault('half open', this.#proxy.silence());
    await this.#load.recovered('half open');
  }
}
