/**
 * The way of a request past the bounds, before anything is done for it and again before it is stored:
 *
 *   arrive ─▶ its namespace's line and share ─▶ bound of unverified work ─▶ read, verify ─▶ share of its namespace ─▶ commit
 *                     │ too much                       │ too much                                   │ too much by now
 *                     ├───────────────────────────────┤                                            ▼
 *                     │                                └─ may be a handshake: read it, counted apart ▶ as any other
 *                     └────────────────▶ 503 ◀──────────────────────────────────────────────────────┘
 *
 * Unverified work is shared out between routes, what is verified between namespaces: an unsigned flood on one URL uses
 * up the former's share of that URL and nothing of the latter. A GET without a body holds nothing and passes always.
 */
import type { Cancel, Clock } from '../core/clock.js';
import type { Random } from '../core/random.js';
import type { ShedReason } from './decision.js';
import { type BoundLimits, FairBound, type Held, type Place } from './fair-bound.js';
import type { CommitReport } from './group-commit.js';
import { HandshakeAllowance } from './handshake-allowance.js';
import type { RequestHead } from './request-head.js';
import { jittered, ReturnLine } from './return-line.js';
import type { ResolvedRoute } from './route-table.js';
import { type CommitLoad, ShedController, type ShedSettings } from './shed-controller.js';

export interface AdmissionControlOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Verified and not yet answered. */
  readonly inFlight: BoundLimits;
  /** Being read and verified. */
  readonly unverified: BoundLimits;
  readonly shed: ShedSettings;
  /** What a body of so many bytes counts for in the line. */
  readonly unitsOf: (bytes: number) => number;
  readonly loadOf: (namespace: string) => CommitLoad;
}

/** A refusal for overload, and when to come back. */
export interface Shed {
  readonly shed: ShedReason;
  readonly retryAfterSeconds: number;
}

/** Of a request that was let in; `release` it when it is answered. */
export interface Passage {
  /** Of what came in for the handshake that it may be: the largest body one has. Else `null`. */
  readonly handshakeBytes: number | null;
  /** Holds bytes of the body as they arrive; false: there is no room for them. */
  readonly grow: (bytes: number) => boolean;
  /** For who could not `grow`, or was larger than a handshake. */
  outgrown(): Shed;
  /** What the verification said; a route whose requests are hardly ever genuine weighs little when it is refused. */
  judged(isGenuine: boolean): void;
  /** It is verified: from here on it counts to its namespace, if there is room. */
  settle(): Shed | null;
  release(): void;
}

interface Lane {
  readonly controller: ShedController;
  readonly returns: ReturnLine;
}

interface RouteState {
  readonly key: string;
  readonly handshakes: HandshakeAllowance;
  /** Average over its latest requests. */
  genuineShare: number;
}

const GENUINE_WEIGHT = 1 / 16;
/** Even a route that nobody signs for has its place in the line of those who come back. */
const LEAST_SHARE = 1 / 64;
/** To who finds no room for unverified work: it is used up for moments. */
const UNVERIFIED_RETRY_MS = 2_000;
/**
 * Bodies read on the allowance for handshakes. What one route's gives while a body may take (half a minute) fits into
 * three quarters; so it is many routes at a time that meet the bound.
 */
const HANDSHAKES: BoundLimits = { requests: 1_024, bytes: 2 ** 20 };

export class AdmissionControl {
  readonly #options: AdmissionControlOptions;
  readonly #verified: FairBound;
  readonly #unverified: FairBound;
  /** Let in under pressure, for each may be a handshake. */
  readonly #handshakes = new FairBound(HANDSHAKES);
  readonly #lanes = new Map<string, Lane>();
  readonly #routes = new Map<string, RouteState>();
  readonly #idleWaiters = new Set<() => void>();
  #passages = 0;

  constructor(options: AdmissionControlOptions) {
    this.#options = options;
    this.#verified = new FairBound(options.inFlight);
    this.#unverified = new FairBound(options.unverified);
  }

  /** Costs no I/O and holds no memory when it refuses. */
  arrive(resolved: ResolvedRoute, head: RequestHead): Passage | Shed {
    const route = this.#routeOf(resolved);
    if (isBodylessRead(head)) return this.#passage(resolved, route, null, null);
    const bytes = head.bodyBytes ?? 0;
    const reason = this.#pressureOn(resolved, bytes) ?? this.#unverifiedPressureOn(route, bytes);
    if (reason !== null && !this.#mayBeHandshake(resolved, route, head))
      return this.#refuse(resolved, route, reason);
    const place = (reason === null ? this.#unverified : this.#handshakes).enter(route.key, bytes);
    if (typeof place === 'string') return this.#refuse(resolved, route, reason ?? 'unverified');
    return this.#passage(resolved, route, place, reason);
  }

  get load(): { readonly unverified: Held; readonly verified: Held } {
    const [one, other] = [this.#unverified.held, this.#handshakes.held];
    const unverified = { requests: one.requests + other.requests, bytes: one.bytes + other.bytes };
    return { unverified, verified: this.#verified.held };
  }

  /** Only what was stored says how fast storing is. */
  commitEnded({ outcome, namespace, units, elapsedMs }: CommitReport): void {
    if (outcome === 'stored') this.#laneOf(namespace).controller.rate.record(units, elapsedMs);
  }

  /** Calls `idle` once nothing is in flight (at once when that is so already). */
  onIdle(idle: () => void): Cancel {
    if (this.#passages === 0) {
      idle();
      return () => {};
    }
    this.#idleWaiters.add(idle);
    return () => this.#idleWaiters.delete(idle);
  }

  #pressureOn({ installed: { namespace }, route }: ResolvedRoute, bytes: number): ShedReason | null {
    return (
      this.#verified.exceeded(namespace, bytes) ??
      this.#laneOf(namespace).controller.judge(
        route.shed,
        this.#options.unitsOf(bytes),
        this.#options.loadOf(namespace),
      )
    );
  }

  #unverifiedPressureOn({ key }: RouteState, bytes: number): ShedReason | null {
    return this.#unverified.exceeded(key, bytes) === null ? null : 'unverified';
  }

  #mayBeHandshake({ route }: ResolvedRoute, state: RouteState, { bodyBytes, client }: RequestHead): boolean {
    const { handshakeBytes } = route.verify;
    if (handshakeBytes === undefined || (bodyBytes ?? 0) > handshakeBytes) return false;
    return state.handshakes.take(this.#options.clock.monotonic(), client());
  }

  /** @param place `null`: it holds nothing. @param pressure why it would have been refused, were it no handshake */
  #passage(
    resolved: ResolvedRoute,
    route: RouteState,
    place: Place | null,
    pressure: ShedReason | null,
  ): Passage {
    this.#passages += 1;
    let held: Place | null = place;
    let released = false;
    return {
      grow: (bytes) => held?.grow(bytes) ?? false,
      handshakeBytes: pressure === null ? null : (resolved.route.verify.handshakeBytes ?? 0),
      outgrown: () => this.#refuse(resolved, route, pressure ?? 'unverified'),
      judged: (isGenuine) => {
        route.genuineShare += GENUINE_WEIGHT * ((isGenuine ? 1 : 0) - route.genuineShare);
      },
      settle: () => {
        const bytes = held?.bytes ?? 0;
        const reason =
          pressure === null ? this.#latePressureOn(resolved, bytes) : this.#pressureOn(resolved, bytes);
        if (reason !== null) return this.#refuse(resolved, route, reason);
        const share = this.#verified.enter(resolved.installed.namespace, bytes) as Place;
        share.grow(bytes);
        held?.release();
        held = share;
        return null;
      },
      release: () => {
        if (released) return;
        released = true;
        held?.release();
        this.#leave();
      },
    };
  }

  #latePressureOn({ installed: { namespace }, route }: ResolvedRoute, bytes: number): ShedReason | null {
    const { controller } = this.#laneOf(namespace);
    return (
      this.#verified.exceeded(namespace, bytes) ??
      controller.judgeVerified(route.shed, this.#options.unitsOf(bytes), this.#options.loadOf(namespace))
    );
  }

  #refuse({ installed: { namespace } }: ResolvedRoute, { genuineShare }: RouteState, shed: ShedReason): Shed {
    const { clock, random, loadOf } = this.#options;
    if (shed === 'unverified') return { shed, retryAfterSeconds: jittered(UNVERIFIED_RETRY_MS, random) };
    const load = loadOf(namespace);
    const { controller, returns } = this.#laneOf(namespace);
    const perMs = controller.returnPerMs(load);
    const weight = Math.max(LEAST_SHARE, genuineShare);
    return { shed, retryAfterSeconds: returns.next(clock.monotonic(), load.units, perMs, weight, random) };
  }

  #laneOf(namespace: string): Lane {
    let lane = this.#lanes.get(namespace);
    if (lane === undefined) {
      lane = { controller: new ShedController(this.#options.shed), returns: new ReturnLine() };
      this.#lanes.set(namespace, lane);
    }
    return lane;
  }

  #routeOf({ installed, route }: ResolvedRoute): RouteState {
    const key = `${installed.packId}/${route.name}`;
    let state = this.#routes.get(key);
    if (state === undefined) {
      state = { key, handshakes: new HandshakeAllowance(), genuineShare: 1 };
      this.#routes.set(key, state);
    }
    return state;
  }

  #leave(): void {
    this.#passages -= 1;
    if (this.#passages > 0) return;
    for (const idle of this.#idleWaiters) idle();
    this.#idleWaiters.clear();
  }
}

function isBodylessRead({ method, bodyBytes }: RequestHead): boolean {
  return (method === 'GET' || method === 'HEAD') && bodyBytes === 0;
}
