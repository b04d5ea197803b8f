/** The pack that virtual processes run: real routes of every kind, and flows that do what the event tells them. */
import { definePack } from '../../src/packs/define-pack.js';
import type {
  BatchReadContext,
  FlowContext,
  FlowEvent,
  Pack,
  Receipt,
  Route,
  SignatureScheme,
} from '../../src/packs/types.js';
import type { DraftedEvent, Step } from './deliveries.js';
import type { FlowRun, Ledger } from './ledger.js';
import type { Scene } from './scene.js';
import { EPOCH_MS } from './virtual-clock.js';
import { never, type Thread, type World } from './world.js';

export const PACK = 'simulated';
export const RETRY = { baseMs: 40, maxMs: 600 };
const BUDGET = 4;
const FEWER = 2;

/** Whoever runs flows. */
export interface FlowHost {
  readonly name: string;
  readonly main: Thread;
  readonly gone: boolean;
  crash(): void;
}

/** How the body of a request begins that nobody has signed. */
export const FORGED = Buffer.from('{"forged":true');

const trusting: SignatureScheme = {
  name: 'trusting',
  methods: ['POST'],
  prepare() {},
  verify: ({ body }) =>
    FORGED.equals(body.subarray(0, FORGED.length))
      ? { kind: 'refused', status: 401, reason: 'nobody has signed it' }
      : { kind: 'verified' },
};

function materialize(receipt: Receipt) {
  const { key, events, broken } = receipt.json() as { key: string; events: DraftedEvent[]; broken: boolean };
  if (broken) throw new Error('this pack cannot read it');
  return {
    deliveries: [
      {
        key,
        events: events.map((event) => ({
          type: 'simulated',
          sourceKey: event.source,
          queueClass: event.queueClass,
          payload: JSON.stringify(event),
          ...(event.target === undefined ? {} : { targetKey: event.target }),
          ...(event.projection === undefined ? {} : { projectionKey: event.projection }),
          ...(event.delayMs === undefined ? {} : { runAfter: EPOCH_MS + event.delayMs }),
        })),
      },
    ],
  };
}

export const itemOfPayload = (payload: Uint8Array): string =>
  (JSON.parse(Buffer.from(payload).toString('utf8')) as DraftedEvent).item;

const bases = new Map<string, Pack>();

/** Version `n` of the pack. `parks`: dead generations are held. */
function basePack(n: number, routeVersion: number, parks: boolean): Pack {
  const key = `${n}/${routeVersion}/${parks}`;
  const common = {
    version: routeVersion,
    verify: trusting,
    materialize,
    retry: { attempts: BUDGET, ...RETRY },
    flow() {},
  };
  const base =
    bases.get(key) ??
    definePack({
      name: PACK,
      version: `1.${n}.0`,
      routes: {
        source: common,
        strict: { ...common, ordering: 'strict' as const },
        free: { ...common, ordering: 'none' as const },
        hold: { ...common, onDead: 'hold' as const, batchRead: () => undefined },
        projected: {
          ...common,
          ...(parks ? { onDead: 'hold' as const, retry: { attempts: FEWER, ...RETRY } } : {}),
          batchRead: () => undefined,
        },
        apart: { ...common, onConflict: 'separate' as const, retry: { attempts: 1, ...RETRY } },
      },
    });
  bases.set(key, base);
  return base;
}

export class FlowRunner {
  readonly #scene: Scene;
  readonly #world: World;
  readonly #ledger: Ledger;
  readonly #host: FlowHost;

  constructor(scene: Scene, host: FlowHost) {
    this.#scene = scene;
    this.#world = scene.world;
    this.#ledger = scene.ledger;
    this.#host = host;
  }

  pack(version: number): Pack {
    const base = basePack(version, this.#scene.routeVersionOf(version), this.#scene.parks);
    const routes = [...base.routes].map(([name, route]): [string, Route] => {
      const batchRead = route.batchRead === null ? null : this.#batchRead;
      return [name, { ...route, flow: (event, ctx) => this.#flow(event, ctx, version), batchRead }];
    });
    return { ...base, limits: this.#scene.declared, routes: new Map(routes) };
  }

  readonly #batchRead = async (events: readonly FlowEvent[], ctx: BatchReadContext): Promise<void> => {
    const drafted = events.map((event) => event.json() as DraftedEvent);
    const read = drafted.find((event) => event.read !== undefined)?.read;
    await this.#world.wait(1, this.#host.main);
    if (read === undefined) return;
    for (const event of events) this.#ledger.readTrouble.add(this.#nameOf(event));
    if (read === 'hang') await aborted(ctx.signal);
    throw new Error('the batch read failed');
  };

  /** A replay has another name than the payload says. */
  #nameOf({ id }: FlowEvent): string {
    return this.#scene.audit.mirror.events.get(id)!.item;
  }

  readonly #flow = async (event: FlowEvent, ctx: FlowContext<unknown>, version: number): Promise<void> => {
    if (this.#host.gone) return await never();
    const { plan } = event.json() as DraftedEvent;
    const item = this.#nameOf(event);
    const step = plan[Math.min(ctx.epoch, plan.length) - 1]!;
    const { name, main } = this.#host;
    const { routeVersion } = this.#scene.audit.mirror.items.get(ctx.workId)!;
    if (routeVersion > this.#scene.routeVersionOf(version))
      this.#world.violation('wrong_outcome', item, `of version ${routeVersion}, run by version ${version}`);
    const counts = this.#underLease(item, ctx);
    const run = this.#ledger.started({ item, epoch: ctx.epoch, process: name }, ctx.signal, main, counts);
    this.#world.trace.note(`${this.#host.name} runs ${item}@${ctx.epoch} ${step.does} ${step.ms}`);
    this.#watch(run, ctx.signal);
    ctx.signal.addEventListener('abort', () => this.#aborted(run, ctx), { once: true });
    try {
      await this.#perform(step, run, ctx);
      this.#end(run, 'finished', ctx);
    } catch (error) {
      const how = step.does === 'retry' || step.does === 'skip' || step.does === 'dead' ? step.does : 'threw';
      this.#end(run, how, ctx);
      throw error;
    }
  };

  /**
   * Nothing starts under a lease that is over. False: the database's clock made it end before its time, so its holder
   * cannot know; whatever it does now is fenced, and counts for nothing.
   */
  #underLease(item: string, { workId, epoch }: FlowContext<unknown>): boolean {
    const { now } = this.#scene.audit.mirror.items.get(workId)!;
    if (now.state === 'processing' && now.epoch === epoch) return true;
    if (this.#scene.database.jumpedAt < 0)
      this.#world.violation(
        'acting_past_lease',
        item,
        `started at epoch ${epoch}, and is ${now.state} at ${now.epoch}`,
      );
    return false;
  }

  #end(run: FlowRun, how: 'finished' | 'threw' | 'retry' | 'skip' | 'dead', ctx: FlowContext<unknown>): void {
    if (this.#host.gone) return;
    run.cause = ctx.signal.aborted ? (ctx.signal.reason as Error).message : null;
    this.#ledger.ended(run, how, this.#world.now);
  }

  async #perform(step: Step, run: FlowRun, ctx: FlowContext<unknown>): Promise<void> {
    const world = this.#world;
    const { main } = this.#host;
    switch (step.does) {
      case 'block':
        world.pause(main, step.ms);
        this.#scene.hardships.stands(this.#host.name, step.ms);
        return await world.wait(0, main);
      case 'hang':
        await aborted(ctx.signal);
        throw ctx.signal.reason;
      case 'late':
        await aborted(ctx.signal, world.wait(step.ms, main));
        return;
      default:
        if (step.ms > 0) await world.wait(step.ms * this.#scene.pace, main);
    }
    if (step.does === 'throw') throw new Error('the flow failed');
    if (step.does === 'skip') return ctx.skip('nothing to do');
    if (step.does === 'dead') return ctx.dead('there is no hope');
    if (step.does === 'kill') {
      this.#host.crash();
      await never();
    }
    if (step.does === 'retry') {
      run.retryMs = step.afterMs;
      return ctx.retryAfter(step.afterMs);
    }
  }

  /** Whoever is well keeps the lease under its run: something was in the way of a renewal, or of the claim itself. */
  #aborted(run: FlowRun, { workId, epoch, signal }: FlowContext<unknown>): void {
    const { audit, database, hardships, settings } = this.#scene;
    const item = audit.mirror.items.get(workId)!;
    const { now, leasedAt } = item;
    if ((signal.reason as Error).message !== LEASE_OVER || now.epoch !== epoch || now.state !== 'processing')
      return;
    const { renewals } = hardships;
    const claimSentAt = this.#ledger.claimSentAt.get(now.token ?? '') ?? 0;
    const since = this.#world.now - settings.leaseMs;
    // Until it hears of a renewal, its lease is that of the claim.
    const ofClaim = claimSentAt >= since - SLACK_MS;
    // A renewal whose answer came late counts from when it was sent, and so does a claim.
    if (database.jumpedAt > leasedAt || renewals.lastWaitOf(run.process) >= since) return;
    if (renewals.lastOf(run.process) >= leasedAt + settings.leaseMs / 2) return;
    if (ofClaim && item.claimedAt - claimSentAt > CLAIM_MS) return;
    this.#world.violation(
      'needless_expiry',
      run.item,
      `${run.process} lives, and did not keep the lease under its run`,
    );
  }

  /** EXE-5: a call hears of its deadline, and one that does not listen is given up; unless its thread stood still. */
  #watch(run: FlowRun, signal: AbortSignal): void {
    const { main } = this.#host;
    const { limits } = this.#scene;
    const { now: startedAt } = this.#world;
    const look = (atMs: number, isOver: () => boolean, problem: string): void => {
      this.#world.after(atMs + SLACK_MS, main, () => {
        const stood = main.pausedUntil > startedAt;
        if (run.how !== null || run.abandoned || this.#host.gone || stood || isOver()) return;
        this.#world.violation('deadline', run.item, `its run of ${run.process} ${problem}`);
      });
    };
    look(limits.deadlineMs, () => signal.aborted, 'was not aborted at its deadline');
    look(limits.abandonMs, () => false, 'was not given up');
  }
}

/** A claim that took no longer leaves time for two renewals. */
const CLAIM_MS = 30;
const LEASE_OVER = 'the lease is lost or about to end';

/** What a timer may be late, and a turn more. */
export const SLACK_MS = 60;

function aborted(signal: AbortSignal, sooner?: Promise<void>): Promise<void> {
  const abort = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
  return sooner === undefined ? abort : Promise.race([abort, sooner]);
}
