/**
 * A process of the product without an operating system: the real supervisor, schedulers, executors, finalizer, lease
 * keeper and admission over a real store, on virtual time. It lives several times:
 *
 *   down ──boot──▶ booting ──installed──▶ serving ──stop()──▶ stopping ──▶ down
 *     ▲               │                      │                   │
 *     └───────────────┴───────crash()────────┴───────────────────┘
 */
import { Foreground } from '../../src/core/foreground.js';
import type { Lease } from '../../src/core/work.js';
import { hostLeaseKeeper } from '../../src/executor/lease-keeper-thread.js';
import { localLinks } from '../../src/executor/lease-protocol.js';
import { Installations, type PackChoice } from '../../src/runtime/installations.js';
import { createSqlStore } from '../../src/store/sql-store.js';
import type { PackStatus, Store } from '../../src/store/store.js';
import { createSupervisor, type Supervisor } from '../../src/supervisor/supervisor.js';
import { delayedLinks } from './delayed-links.js';
import type { ProcessTraits } from './process-traits.js';
import type { Scene } from './scene.js';
import type { Seeded } from './seeded.js';
import { VirtualAdmission, type WebhookAnswer } from './virtual-admission.js';
import { drawnLateness, VirtualClock } from './virtual-clock.js';
import { VirtualDriver } from './virtual-driver.js';
import { FlowRunner, PACK, SLACK_MS } from './virtual-packs.js';
import { watchedStore } from './watched-store.js';
import { type WatchedPool, WorkWatch } from './work-watch.js';
import { Thread } from './world.js';

const SILENT = { debug() {}, info() {}, warn() {}, error() {} };

export class Life {
  readonly name: string;
  readonly main: Thread;
  readonly keeper: Thread;
  readonly io: Thread;
  /** Of the pack it runs. */
  version: number;
  readonly #scene: Scene;
  readonly #traits: ProcessTraits;
  readonly #random: Seeded;
  readonly #wall: { skewMs: number };
  readonly #flows: FlowRunner;
  readonly #onGone: () => void;
  #installations: Installations | null = null;
  #supervisor: Supervisor | null = null;
  #work: WorkWatch | null = null;
  #admission: VirtualAdmission | null = null;
  #draining = false;
  #removed = false;
  #changes = 0;
  #gone = false;
  #markEnded: () => void = () => undefined;
  readonly #ended = new Promise<void>((resolve) => {
    this.#markEnded = resolve;
  });

  constructor(scene: Scene, traits: ProcessTraits, name: string, version: number, onGone: () => void) {
    this.name = name;
    this.version = version;
    this.#scene = scene;
    this.#traits = traits;
    this.#random = scene.world.random.stream(name);
    this.#wall = { skewMs: traits.skewMs };
    this.main = new Thread(name);
    this.keeper = traits.ownKeeper ? new Thread(`${name}/keeper`) : this.main;
    this.io = new Thread(`${name}/io`);
    this.#flows = new FlowRunner(scene, this);
    this.#onGone = onGone;
    scene.world.after(0, this.main, () => void this.#boot());
  }

  get gone(): boolean {
    return this.#gone;
  }

  get isDraining(): boolean {
    return this.#draining;
  }

  /** Those that claim here. */
  get pools(): readonly WatchedPool[] {
    return this.#draining ? [] : (this.#work?.pools ?? []);
  }

  get serving(): boolean {
    return this.#admission !== null && !this.#gone;
  }

  /** Installs, then serves; what goes wrong before that ends the process. */
  async #boot(): Promise<void> {
    const { world, settings } = this.#scene;
    const clock = this.#clockOf(this.main);
    const store = this.#storeOf(this.main);
    const installations = new Installations(store, clock);
    try {
      await installations.use(this.#choice(this.version));
    } catch {
      return this.crash();
    }
    this.#installations = installations;
    const nextTurn = (fire: () => void): void => void world.after(0, this.main, fire);
    const foreground = new Foreground(clock);
    if (this.#traits.role !== 'ingress') {
      this.#supervisor = createSupervisor({
        store,
        packs: installations.served,
        settings: { ...settings, workersPerPack: this.#traits.workers },
        leaseLink: this.#openKeeper(),
        foreground,
        clock,
        random: this.#random,
        nextTurn,
        log: SILENT,
        holder: this.name,
      });
      this.#work = new WorkWatch(this.#scene, this, this.#supervisor);
      this.#supervisor.start();
    }
    installations.follow(this.#work?.followed(() => this.#interrupt()) ?? null);
    if (this.#traits.role !== 'worker')
      this.#admission = this.#openAdmission(store, installations, foreground);
  }

  #clockOf(thread: Thread): VirtualClock {
    const { world } = this.#scene;
    const originMs = this.#random.int(0, 1_000_000);
    return new VirtualClock(
      world,
      thread,
      this.#wall,
      originMs,
      drawnLateness(this.#random, this.#traits.latenessMs),
    );
  }

  #storeOf(caller: Thread): Store {
    const { world, ledger, audit, database, faults, hardships, outage, statementMs } = this.#scene;
    const random = this.#random;
    const driver = new VirtualDriver({
      world,
      database,
      faults,
      hardships,
      random,
      caller,
      io: this.io,
      life: this,
      isOut: () => outage.until > world.now,
      statementMs,
    });
    const store = createSqlStore({ driver, clock: this.#clockOf(caller), random });
    return watchedStore(store, {
      world,
      ledger,
      life: this.name,
      hardships,
      renewing: (workIds) => this.#renewing(workIds),
      lost: (leases) => this.#lost(leases),
      scanning: (packId) => this.#scanning(packId),
      asks: (packId, request) => this.#work?.asks(packId, request) ?? this.name,
      probe: () => this.#work?.probe() ?? store.pressure(),
      claiming: (token) => this.#claiming(token),
      isRenewed: (lease, since) => audit.isRenewed(lease, since),
    });
  }

  #openKeeper() {
    const { world } = this.#scene;
    const links = this.#traits.ownKeeper
      ? delayedLinks(world, this.#random, this.main, this.keeper)
      : localLinks();
    hostLeaseKeeper(links.keeper, this.#storeOf(this.keeper), this.#clockOf(this.keeper));
    return links.main;
  }

  #openAdmission(store: Store, { resolve }: Installations, foreground: Foreground): VirtualAdmission {
    const { world, faults, admission } = this.#scene;
    return new VirtualAdmission({
      world,
      faults,
      main: this.main,
      life: this.name,
      traits: admission,
      store: { materialize: (request) => foreground.admit(() => store.materialize(request)) },
      resolve,
      clock: this.#clockOf(this.main),
      random: this.#random,
      gatherMs: this.#traits.gatherMs,
      isDraining: () => this.#draining,
      onCommitted: ({ packId, queueClasses }) => {
        this.#work?.woken(packId, queueClasses);
        this.#supervisor?.wake(packId, queueClasses);
      },
    });
  }

  /** A lease is kept for a main thread that lives, and not for longer than its call may take. */
  #renewing(workIds: readonly string[]): string | null {
    const { world, audit, settings, limits } = this.#scene;
    const { pausedFrom, pausedUntil } = this.main;
    // A keeper that stood still itself cannot know more than that it hears nothing now.
    const since = Math.max(pausedFrom, this.keeper.pausedUntil);
    const stoodMs = pausedUntil > world.now ? world.now - since : 0;
    if (stoodMs > 2 * settings.leaseMs) return `renewed while its main thread stood still for ${stoodMs} ms`;
    const longestMs = 2 * limits.abandonMs + settings.leaseMs + KEEPER_SLACK_MS;
    for (const workId of workIds) {
      const { item, claimedAt } = audit.mirror.items.get(workId)!;
      if (world.now - claimedAt > longestMs)
        return `renewed ${item} ${world.now - claimedAt} ms after its claim`;
    }
    return null;
  }

  /** OWN-5: who has lost a lease is told so, and its flow with it. */
  #lost(leases: readonly Lease[]): void {
    const { world, ledger, audit } = this.#scene;
    for (const { workId, epoch } of leases) {
      const run = ledger.run(audit.mirror.items.get(workId)!.item, epoch);
      const isTold = (): void => {
        if (run === undefined || run.how !== null || run.abandoned || run.signal.aborted || this.#gone)
          return;
        world.violation(
          'acting_past_lease',
          run.item,
          `its run of ${this.name} was not told that its lease is lost`,
        );
      };
      // A thread that stands hears nothing: the time to hear it begins when it goes on.
      world.after(0, this.main, () => world.after(SLACK_MS, this.main, isTold));
    }
  }

  /** One request; `answer` is called unless the process dies first. */
  serve(namespace: string, route: string, body: Buffer, answer: (answer: WebhookAnswer) => void): void {
    this.#scene.world.after(0, this.main, () => {
      void this.#admission!.serve(namespace, `${PACK}/${route}`, body).then((given) => {
        if (given !== null && !this.#gone) answer(given);
      });
    });
  }

  pause(forMs: number, whole: boolean): void {
    const { world } = this.#scene;
    world.trace.note(`${this.name} stands still for ${forMs} ms`);
    this.#scene.hardships.stands(this.name, forMs);
    for (const thread of whole ? [this.main, this.keeper, this.io] : [this.main]) world.pause(thread, forMs);
  }

  jumpWall(byMs: number): void {
    this.#wall.skewMs += byMs;
  }

  /** The pack is out of this process, or on its way out or back. */
  get isRemoved(): boolean {
    return this.#removed;
  }

  /** It believes that its pack has this status. */
  serves(status: PackStatus, packId: number): boolean {
    const served = this.#installations?.served.find(({ installed }) => installed.packId === packId);
    return served?.installed.status === status;
  }

  /** Takes the pack out of service here. False: it does not serve, or not any more. */
  remove(): boolean {
    if (this.#installations === null || this.#gone || this.#draining || this.#removed) return false;
    this.#removed = true;
    this.#changes++;
    this.#scene.world.trace.note(`${this.name} serves no pack any more`);
    void this.#installations?.use({ packs: [], namespaces: this.#scene.namespaces }).catch(() => undefined);
    return true;
  }

  /** Takes it back, and does not give up. */
  async restore(): Promise<void> {
    if (!this.#removed || this.#gone || this.#draining) return;
    await this.replace(this.version);
    if (this.#removed) this.#scene.world.after(RESTORE_MS, this.main, () => void this.restore());
  }

  /** Takes a newer version of the pack into service, as an operator's reload does. */
  async replace(version: number): Promise<void> {
    if (this.#installations === null) return;
    const change = ++this.#changes;
    try {
      await this.#installations.use(this.#choice(version));
      this.version = version;
      if (change === this.#changes) this.#removed = false;
    } catch {
      // The operator is told; the old one goes on.
    }
  }

  #choice(version: number): PackChoice {
    return { packs: [this.#flows.pack(version)], namespaces: this.#scene.namespaces };
  }

  /** Its pools are being changed, and it is stopped in the middle of that. */
  #interrupt(): void {
    if (!this.#draining && this.#scene.faults.strikes('stop_in_change')) void this.stop(STOP_MS);
  }

  async stop(timeoutMs: number): Promise<void> {
    this.#draining = true;
    const { world, settings } = this.#scene;
    const until = world.now + timeoutMs + 2 * settings.stopGraceMs;
    this.#installations?.close();
    // Who is killed while it stops never answers.
    await Promise.race([this.#supervisor?.stop({ timeoutMs }), this.#ended]);
    if (this.#gone) return;
    for (const { item, signal } of this.#scene.ledger.going(this.name)) {
      if (!signal.aborted)
        this.#scene.world.violation('deadline', item, `${this.name} stopped and did not tell its run`);
    }
    this.#leaveNothing(until);
    this.#end('stopped');
  }

  /** A stop that had time left, or what had long ended by then, leaves no row in processing. */
  #leaveNothing(until: number): void {
    const { world, audit, ledger, hardships, database } = this.#scene;
    for (const item of audit.mirror.items.values()) {
      const { state, holder, epoch, token } = item.now;
      if (state !== 'processing' || holder !== this.name || ledger.openClaims.has(token ?? '')) continue;
      const run = ledger.run(item.item, epoch);
      const since = run === undefined || run.how === null ? item.claimedAt : run.endedAt;
      if (
        run?.abandoned ||
        database.jumpedAt > item.leasedAt ||
        hardships.statements.lastOf(this.name) > since
      )
        continue;
      const isLate = world.now > until - SLACK_MS;
      if (isLate && (run?.how === null || world.now - since < REPORT_MS)) continue;
      const did = run === undefined ? 'never ran' : (run.how ?? 'runs');
      world.violation('left_behind', item.item, `${this.name} stopped before ${until}, and it ${did}`);
    }
  }

  /** SCH-2: a pack that is paused, or gone, has no scheduler in a process that knows. */
  #scanning(packId: number): void {
    if (this.#installations !== null && !this.serves('active', packId))
      this.#scene.world.violation('out_of_service', this.name, 'scans for a pack that it does not serve');
  }

  /** Nothing new is taken once it stops; a claim whose answer is not known may be asked again. */
  #claiming(token: string): void {
    if (this.#draining && !this.#scene.ledger.openClaims.has(token))
      this.#scene.world.violation('left_behind', this.name, 'claims while it stops');
  }

  /** Nothing of it acts any more. */
  crash(): void {
    this.#end('killed');
  }

  #end(how: 'killed' | 'stopped'): void {
    if (this.#gone) return;
    this.#gone = true;
    const { world, database, ledger } = this.#scene;
    world.trace.note(`${this.name} is gone: ${how}`);
    for (const thread of [this.main, this.keeper, this.io]) thread.alive = false;
    database.abandon(this);
    ledger.gone(this.name, how);
    this.#markEnded();
    this.#onGone();
  }
}

/** For what runs to end by itself, when it is stopped in the middle of a change. */
const STOP_MS = 1_000;

/** Between two tries to take the pack back. */
const RESTORE_MS = 200;

/** From the end of a call to a durable outcome, when nothing is in its way. */
const REPORT_MS = 300;

/** Messages, statements and timers on the way. */
const KEEPER_SLACK_MS = 1_500;
