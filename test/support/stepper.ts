/**
 * Drives two or more participants over real connections through the interleavings of their statements. Each has a
 * driver of its own with one connection, and stops before BEGIN, before every statement and before COMMIT:
 *
 *   running ─(arrives at a step)─▶ at the gate ─(chosen)─▶ running
 *      │ ▲                                                    │
 *      ▼ └─(lock granted, or refused)─ blocked ◀──(its statement waits for a row lock)
 *    done
 *
 * A step is chosen only while nobody is running, so a run is decided by its choices alone. What the product does
 * about contention (roll back, start again whole) happens here too, because it is the product's driver. Orders that
 * differ only in steps which cannot meet count as one; see footprints.ts and interleavings.ts.
 */
import type { Clock } from '../../src/core/clock.js';
import { systemClock } from '../../src/core/system.js';
import { type MysqlDriverOptions, openMysqlDriver } from '../../src/store/dialects/mysql/driver.js';
import type { Driver } from '../../src/store/driver.js';
import type { Plan } from '../../src/store/plan.js';
import { retrying } from '../../src/store/retrying.js';
import { describer, everyOrder, learningRelation, type Move, type SnapshotTime } from './footprints.js';
import { Interleavings, seededRandom } from './interleavings.js';
import { type LockWaits, watchLockWaits } from './lock-waits.js';

/** Does its work on the driver it is given, and on no other. Must be repeatable: it runs once per interleaving. */
export type Participant<F> = (driver: Driver, fixture: F) => Promise<unknown>;

export interface Interleaving<F> {
  readonly fixture: F;
  /** In the order they were let through: `A begin`, `B begin`, `A claim.lockItemRows`, … */
  readonly steps: readonly string[];
  /** What each participant returned, or the error it ended with. */
  readonly results: Readonly<Record<string, unknown>>;
}

export interface StepperOptions<F> {
  /** The database's URL; its user must see InnoDB's status. */
  readonly url: string;
  readonly participants: Readonly<Record<string, Participant<F>>>;
  /** Makes the rows of one run, all anew; runs unhindered before the participants. */
  readonly fixture: () => Promise<F>;
  /** Throws when what a run left behind is wrong. */
  readonly invariant: (interleaving: Interleaving<F>) => Promise<void> | void;
  /** Runs at most. Default 600. */
  readonly limit?: number;
  /**
   * Also run orders that differ only in steps which cannot meet. Default false. Wanted where a participant throws by
   * itself: the rollback that follows is not a step of its own.
   */
  readonly everyOrder?: boolean;
  /** Chooses the sample when there are more. Default 1. */
  readonly seed?: number;
  /** Isolation, `snapshotBegin` and the like. */
  readonly driver?: Partial<MysqlDriverOptions>;
}

export interface StepperReport {
  readonly run: number;
  /** How many interleavings there are; an upper bound unless `exhaustive`. */
  readonly of: number;
  readonly exhaustive: boolean;
  /** Runs made that turned out to differ from another in the order of independent steps only. */
  readonly repeats: number;
  /** Steps that had to wait for another participant's lock. */
  readonly waits: number;
  /** Transactions that were begun again after contention. */
  readonly restarts: number;
}

const POLL_MS = 2;
const STEP_LIMIT_MS = 30_000;
const PATIENT: Partial<MysqlDriverOptions> = { poolSize: 1, lockWaitMs: 60_000, statementTimeoutMs: 90_000 };

/** For participants that wait between tries: they do not. */
export const hastyClock: Clock = { ...systemClock, sleep: async () => {} };

/** A participant that runs one plan as the Store does, started again whole on contention. */
export const planned =
  <F>(plan: (fixture: F) => Plan<unknown>): Participant<F> =>
  (driver, fixture) =>
    retrying(hastyClock, { float: seededRandom(1), bytes: (count) => new Uint8Array(count) }, () =>
      driver.transaction(() => plan(fixture)),
    );

function snapshotTimeOf({ driver }: Pick<StepperOptions<unknown>, 'driver'>): SnapshotTime {
  if (driver?.isolation !== 'repeatable-read') return 'each statement';
  return driver.snapshotBegin ? 'begin' : 'first read';
}

/** Runs every interleaving, or `limit` of them. Rejects at the first that breaks the invariant, naming its steps. */
export async function stepThrough<F>(options: StepperOptions<F>): Promise<StepperReport> {
  const relation = options.everyOrder ? everyOrder : learningRelation();
  const order = new Interleavings<Move>(options.seed ?? 1, relation);
  const waits = await watchLockWaits(options.url);
  const actors = await Promise.all(
    Object.entries(options.participants).map(([name, work]) => openActor(options, name, work)),
  );
  const runs: Run<F> = { options, actors, waits, learn: relation.learn, made: 0, restarts: 0 };
  try {
    // Each goes first once, so that the moves of all are known before their order matters.
    for (const { name } of actors) {
      await runOnce(runs, (moves) => moves.find((move) => move.name === name) ?? moves[0]!);
    }
    while (!order.exhausted && runs.made < actors.length + (options.limit ?? 600)) {
      order.begin();
      const learned = await runOnce(runs, (moves) => order.choose(moves));
      order.finish();
      if (learned) order.restart();
    }
  } finally {
    for (const actor of actors) actor.openGate();
    await Promise.all(actors.map((actor) => actor.driver.close()));
    await waits.close();
  }
  return {
    run: order.runs,
    of: order.total,
    exhaustive: order.exhausted,
    repeats: order.repeats,
    waits: actors.reduce((total, actor) => total + actor.waits, 0),
    restarts: runs.restarts,
  };
}

interface Run<F> {
  readonly options: StepperOptions<F>;
  readonly actors: readonly Actor<F>[];
  readonly waits: LockWaits;
  readonly learn: (move: Move) => boolean;
  made: number;
  restarts: number;
}

/** True: it showed a move that was not known before. */
async function runOnce<F>(run: Run<F>, choose: (moves: readonly Move[]) => Move): Promise<boolean> {
  const { options, actors } = run;
  const fixture = await options.fixture();
  const moves: Move[] = [];
  let learned = false;
  for (const actor of actors) actor.start(fixture);
  while (await settled(actors, run.waits)) {
    const ready = actors.filter((actor) => actor.state === 'at the gate');
    for (const actor of ready) learned = run.learn(actor.move) || learned;
    const move = choose(ready.map((actor) => actor.move));
    moves.push(move);
    ready.find(({ name }) => name === move.name)!.letThrough();
  }
  run.made++;
  run.restarts += restartsIn(moves);
  const steps = moves.map(({ name, step }) => `${name} ${step}`);
  const results = Object.fromEntries(actors.map((actor) => [actor.name, actor.result]));
  try {
    await options.invariant({ fixture, steps, results });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new Error(`run ${run.made} broke the invariant: ${message}\n  ${steps.join('\n  ')}`, {
      cause: error,
    });
  }
  return learned;
}

/** A BEGIN whose participant has not got to the COMMIT of the one before. */
function restartsIn(moves: readonly Move[]): number {
  const inside = new Set<string>();
  let restarts = 0;
  for (const { name, step } of moves) {
    if (step === 'begin' && inside.has(name)) restarts++;
    if (step === 'begin') inside.add(name);
    if (step === 'commit') inside.delete(name);
  }
  return restarts;
}

/** Waits until nobody is running. True: somebody is at the gate; false: all are done. */
async function settled<F>(actors: readonly Actor<F>[], waits: LockWaits): Promise<boolean> {
  const giveUpAt = Date.now() + STEP_LIMIT_MS;
  for (;;) {
    const running = actors.filter((actor) => actor.state === 'running');
    await Promise.race([...running.map((actor) => actor.moved), pause(POLL_MS)]);
    if (actors.some((actor) => actor.state === 'running' || actor.state === 'blocked')) {
      const waiting = await waits.waiting();
      for (const actor of actors) actor.observe(waiting);
    }
    const states = new Set(actors.map((actor) => actor.state));
    if (!states.has('running')) {
      if (states.has('at the gate')) return true;
      // All the rest wait for each other: the server refuses one of them, and it moves.
      if (!states.has('blocked')) return false;
    }
    if (Date.now() > giveUpAt) {
      const states = actors.map(({ name, state, move }) => `${name} ${state} ${move.step}`);
      throw new Error(`stuck: ${states.join(', ')}`);
    }
  }
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

interface Actor<F> {
  readonly name: string;
  readonly driver: Driver;
  readonly state: 'running' | 'at the gate' | 'blocked' | 'done';
  /** The last it arrived at. */
  readonly move: Move;
  readonly result: unknown;
  readonly waits: number;
  /** Resolves when it is next at the gate or done. */
  readonly moved: Promise<void>;
  start(fixture: F): void;
  letThrough(): void;
  /** Takes note of whether it waits for a lock, unless it moved in the meantime. */
  observe(waiting: ReadonlySet<number>): void;
  /** Lets everything through from now on. */
  openGate(): void;
}

async function openActor<F>(
  options: StepperOptions<F>,
  name: string,
  work: Participant<F>,
): Promise<Actor<F>> {
  let proceed = () => {};
  let move = () => {};
  let open = false;
  let connectionId = 0;
  const describe = describer(name, snapshotTimeOf(options));
  const actor = {
    name,
    state: 'done' as Actor<F>['state'],
    move: describe({ kind: 'commit', name: 'none', sql: 'COMMIT', connectionId: 0 }),
    result: undefined as unknown,
    waits: 0,
    moved: Promise.resolve(),
    start(fixture: F) {
      this.letThrough();
      work(driver, fixture).then(
        (value) => arrive('done', value),
        (error) => arrive('done', error),
      );
    },
    letThrough() {
      this.state = 'running';
      this.moved = new Promise((resolve) => {
        move = resolve;
      });
      proceed();
    },
    observe(waiting: ReadonlySet<number>) {
      if (this.state !== 'running' && this.state !== 'blocked') return;
      const blocked = waiting.has(connectionId);
      if (blocked && this.state === 'running') this.waits++;
      this.state = blocked ? 'blocked' : 'running';
    },
    openGate() {
      open = true;
      proceed();
    },
  };
  const arrive = (state: 'at the gate' | 'done', result?: unknown) => {
    actor.state = state;
    actor.result = result;
    move();
  };
  const driver = await openMysqlDriver({
    url: options.url,
    clock: systemClock,
    ...PATIENT,
    ...options.driver,
    onStatement: async (step) => {
      if (open) return;
      connectionId = step.connectionId;
      actor.move = describe(step);
      const chosen = new Promise<void>((resolve) => {
        proceed = resolve;
      });
      arrive('at the gate');
      await chosen;
    },
  });
  return Object.assign(actor, { driver });
}
