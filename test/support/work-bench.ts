/** Everything below the supervisor for a test: a real store on a file, time by hand, a pack, and a recorder. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach } from 'vitest';
import { systemNextTurn, systemRandom } from '../../src/core/system.js';
import type { QueueClass } from '../../src/core/work.js';
import { localLeaseKeeper } from '../../src/executor/lease-keeper-thread.js';
import { definePack } from '../../src/packs/define-pack.js';
import { signatures } from '../../src/packs/signatures.js';
import type { FlowContext, FlowEvent, FlowLog, Pack, RouteInput } from '../../src/packs/types.js';
import type { WorkEventMap, WorkEventName, WorkEvents } from '../../src/scheduler/work-events.js';
import { openSqliteStore } from '../../src/store/dialects/sqlite/open.js';
import type { InstalledPack, Store } from '../../src/store/store.js';
import {
  createSupervisor,
  type Supervisor,
  type SupervisorOptions,
} from '../../src/supervisor/supervisor.js';
import { draftReceipt, type ReceiptSketch } from './drafts.js';
import { ManualClock, until } from './manual-clock.js';
import { SteeredStore } from './steered-store.js';

export type Flow = (event: FlowEvent, ctx: FlowContext<unknown>) => Promise<void> | void;

export interface ItemRow {
  readonly WorkId: string;
  readonly EventId: string;
  readonly State: string;
  readonly Attempt: number;
  readonly Failures: number;
  readonly RunAfter: number;
  readonly LeaseUntil: number | null;
  readonly OwnershipEpoch: number;
  readonly LastErrorCode: string | null;
  readonly LastError: string | null;
}

export const LEASE_MS = 3_000;

/** A pack of one route called `events`, or of the routes given. */
export function packOf(flow: Flow, route: Partial<RouteInput> = {}, version = '1.0.0'): Pack {
  return packOfRoutes({ events: { ...route, flow } }, version);
}

export function packOfRoutes(
  routes: Readonly<Record<string, Partial<RouteInput> & { flow: Flow }>>,
  version = '1.0.0',
): Pack {
  const common = {
    version: 1,
    verify: signatures.github({ secret: 'a secret of the test' }),
    materialize: () => ({ deliveries: [] }),
  };
  const entries = Object.entries(routes).map(([name, route]) => [name, { ...common, ...route }]);
  return definePack({ name: 'bench', version, routes: Object.fromEntries(entries) });
}

/** A log that keeps its lines. */
export class KeptLog implements FlowLog {
  readonly lines: { readonly level: string; readonly message: string; readonly fields: unknown }[] = [];
  readonly debug = this.#writer('debug');
  readonly info = this.#writer('info');
  readonly warn = this.#writer('warn');
  readonly error = this.#writer('error');

  #writer(level: string) {
    return (message: string, fields?: unknown) => void this.lines.push({ level, message, fields });
  }
}

export class WorkBench {
  readonly clock = new ManualClock();
  readonly random = systemRandom();
  readonly log = new KeptLog();
  readonly steered: SteeredStore;
  readonly store: Store;
  readonly installed: InstalledPack;
  readonly #path: string;
  readonly #sql: Database.Database;
  readonly #closing: (() => unknown)[] = [];

  private constructor(path: string, store: Store, clock: ManualClock, installed: InstalledPack) {
    this.clock = clock;
    this.#path = path;
    this.steered = new SteeredStore(store);
    this.store = this.steered.store;
    this.installed = installed;
    this.#sql = new Database(path);
  }

  static async open(onStatement?: (name: string) => void): Promise<WorkBench> {
    const folder = mkdtempSync(join(tmpdir(), 'lanehead-work-'));
    const path = join(folder, 'store.db');
    const clock = new ManualClock();
    const store = openSqliteStore({
      path,
      clock,
      random: systemRandom(),
      ...(onStatement && { onStatement }),
    });
    await store.migrate();
    const [installed] = await store.installPacks([{ namespace: 'acme', pack: 'bench', version: '1.0.0' }]);
    const bench = new WorkBench(path, store, clock, installed!);
    bench.#closing.push(
      () => store.close(),
      () => rmSync(folder, { recursive: true, force: true }),
    );
    return bench;
  }

  /** A supervisor over the steered store; stopped with the bench. */
  supervise(pack: Pack, changes: Partial<SupervisorOptions> = {}): Supervisor {
    const { clock, random, log } = this;
    const store = changes.store ?? this.store;
    const supervisor = createSupervisor({
      store,
      packs: [{ pack, installed: this.installed }],
      leaseLink: localLeaseKeeper(store, clock),
      clock,
      random,
      nextTurn: systemNextTurn,
      log,
      holder: 'bench',
      ...changes,
      settings: { leaseMs: LEASE_MS, ...changes.settings },
    });
    this.#closing.unshift(() => this.#stop(supervisor));
    return supervisor;
  }

  /** Another connection to the same file, as another process has. */
  openBeside(clock: ManualClock = this.clock): Store {
    const store = openSqliteStore({ path: this.#path, clock, random: systemRandom() });
    this.#closing.unshift(() => store.close());
    return store;
  }

  admit(...sketches: ReceiptSketch[]): Promise<void> {
    return this.#admitTo(this.installed, sketches);
  }

  async #admitTo(installed: InstalledPack, sketches: readonly ReceiptSketch[]): Promise<void> {
    const { packId, namespace } = installed;
    const receipts = sketches.map((sketch) => draftReceipt(installed, sketch));
    const results = await this.store.materialize({ packId, namespace, receipts });
    if ('refused' in results) throw new Error(results.refused);
  }

  /** Admits one event each of sources named `source-1` … `source-<count>`, of these classes in turn. */
  admitSources(
    count: number,
    queueClasses: readonly QueueClass[] = ['default'],
    installed = this.installed,
  ): Promise<void> {
    const events = Array.from({ length: count }, (_, n) => ({
      source: `source-${n + 1}`,
      queueClass: queueClasses[n % queueClasses.length]!,
    }));
    return this.#admitTo(installed, [{ events }]);
  }

  /** In order of materialization. */
  items(): readonly ItemRow[] {
    return this.#sql
      .prepare('SELECT * FROM _System_ConnectorWorkItem ORDER BY LaneOrdinal')
      .all() as ItemRow[];
  }

  states(): readonly string[] {
    return this.items().map((row) => row.State);
  }

  async untilStates(...states: readonly string[]): Promise<void> {
    await until(() => this.states().join() === states.join(), `items become ${states.join()}`);
  }

  sql(text: string, ...params: unknown[]): void {
    this.#sql.prepare(text).run(...params);
  }

  async close(): Promise<void> {
    this.#sql.close();
    for (const close of this.#closing) await close();
  }

  async #stop(supervisor: Supervisor): Promise<void> {
    let stopped = false;
    const stop = supervisor.stop({ timeoutMs: 1 }).then(() => {
      stopped = true;
    });
    for (let step = 0; step < 100 && !stopped; step++) await this.clock.advance(1_000);
    await stop;
  }
}

/** Opens benches and closes them after each test, whatever came of it. */
export function useBench(): (onStatement?: (name: string) => void) => Promise<WorkBench> {
  const open: WorkBench[] = [];
  afterEach(async () => {
    for (const bench of open.splice(0)) await bench.close();
  });
  return async (onStatement) => {
    const bench = await WorkBench.open(onStatement);
    open.push(bench);
    return bench;
  };
}

/** Every event of one name, as it comes. */
export function record<Name extends WorkEventName>(events: WorkEvents, name: Name): WorkEventMap[Name][] {
  const seen: WorkEventMap[Name][] = [];
  events.on(name, (event) => void seen.push(event));
  return seen;
}

/** A promise and its resolution, for flows that wait for the test. */
export function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
