import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import type { Clock } from '../core/clock.js';
import { LaneheadError } from '../core/errors.js';
import type { NewId } from '../core/ids.js';
import type { Random } from '../core/random.js';
import type { Tracing } from '../core/tracing.js';
import type { Enqueued } from '../core/work.js';
import type { Store } from '../store/store.js';
import { Admission } from './admission.js';
import { AdmissionControl } from './admission-control.js';
import { ConnectionGuard } from './connection-guard.js';
import type { DecisionObserver } from './decision.js';
import { describeError } from './describe-error.js';
import type { BoundLimits, Held } from './fair-bound.js';
import { answerFetch } from './fetch-handler.js';
import { type CommitReport, GroupCommit, type GroupCommitOptions } from './group-commit.js';
import { Health, type HealthCheck } from './health.js';
import { DEFAULT_HTTP_LIMITS, type HttpLimits, httpListener } from './http-listener.js';
import { type RequestDecider, requestDecider } from './request-decider.js';
import type { ResolveRoute } from './route-table.js';

export interface IngressOptions {
  readonly store: Pick<Store, 'materialize'>;
  readonly resolve: ResolveRoute;
  readonly clock: Clock;
  readonly random: Random;
  readonly newId: NewId;
  readonly log: Logger;
  /** What `/readyz` reports, by name. */
  readonly checks: Readonly<Record<string, HealthCheck>>;
  /** Called after each durable commit, to wake the local scheduler. */
  readonly onCommitted: (enqueued: Enqueued) => void;
  /** Called once for each commit, with how it ended and how long it took. */
  readonly onCommitEnded?: (commit: CommitReport) => void;
  /** Called once for each request, with how it ended. */
  readonly onDecision?: DecisionObserver;
  /** Default: nothing is traced. */
  readonly tracing?: Tracing | null;
  /** Body limit of routes that set none. Default 5 MiB: an entry of TiDB has 6. */
  readonly maxBodyBytes?: number;
  /** Verified and not yet answered, shared out between namespaces. Default 4,096 requests and 128 MiB. */
  readonly inFlight?: BoundLimits;
  /** Being read and verified, shared out between routes. Default 1,024 requests and 128 MiB. */
  readonly unverified?: BoundLimits;
  /** How long what is admitted waits for its commit under overload. Default 1,000. */
  readonly targetWaitMs?: number;
  readonly groupCommit?: Pick<GroupCommitOptions, 'maxReceipts' | 'maxBytes' | 'gatherMs' | 'deadlineMs'>;
  readonly http?: Partial<HttpLimits>;
  /** Addresses and CIDR ranges whose `X-Forwarded-For` is believed. Default: nobody's. */
  readonly trustProxy?: readonly string[];
}

/**
 *   created ──listen──▶ serving ──beginDrain──▶ draining ──close──▶ closed
 *      └───────────────────┴─────────close─────────────────────────▶
 */
export interface Ingress {
  /** What it holds now. */
  readonly load: IngressLoad;
  /** Opens the port (0: any free one). Rejects when it is taken, or after `close`. */
  listen(address: { readonly host: string; readonly port: number }): Promise<{ readonly url: string }>;
  /** Serves one request in the process, by the same decisions; works without `listen`. */
  handle(request: Request): Promise<Response>;
  /** From now on `/readyz` is not ready and new requests get 503 `draining`; those in flight go on. Idempotent. */
  beginDrain(): void;
  /** Drains, waits up to `timeoutMs` for answers in flight, then closes the port and every connection. Idempotent. */
  close(options: { readonly timeoutMs: number }): Promise<void>;
}

export interface IngressLoad {
  /** Requests being read and verified, and the bytes of their bodies. */
  readonly unverified: Held;
  /** Those that are verified and not yet answered. */
  readonly verified: Held;
  /** Receipts that wait for a commit. */
  readonly waitingReceipts: number;
}

const MEBIBYTE = 2 ** 20;
export const DEFAULT_IN_FLIGHT: BoundLimits = { requests: 4_096, bytes: 128 * MEBIBYTE };
export const DEFAULT_UNVERIFIED: BoundLimits = { requests: 1_024, bytes: 128 * MEBIBYTE };
export const DEFAULT_TARGET_WAIT_MS = 1_000;
/** For connections that are owed nothing any more, but that their client does not close. */
const CLOSE_GRACE_MS = 500;

export function createIngress(options: IngressOptions): Ingress {
  return new HttpIngress(options);
}

class HttpIngress implements Ingress {
  readonly #clock: Clock;
  readonly #control: AdmissionControl;
  readonly #commits: GroupCommit;
  readonly #decider: RequestDecider;
  readonly #app: FastifyInstance;
  #draining = false;
  #listening: Promise<unknown> | null = null;
  #closed: Promise<void> | null = null;

  constructor(options: IngressOptions) {
    const { clock, log } = options;
    const isDraining = (): boolean => this.#draining;
    const onDecision = guarded(options.onDecision ?? (() => {}), log, 'the decision observer failed');
    this.#clock = clock;
    this.#commits = groupCommit(options, (report) => this.#control.commitEnded(report));
    this.#control = admissionControl(options, this.#commits);
    const health = new Health({ checks: options.checks, clock, isDraining });
    const admission = new Admission({
      resolve: options.resolve,
      commits: this.#commits,
      control: this.#control,
      clock,
      newId: options.newId,
      maxBodyBytes: options.maxBodyBytes ?? 5 * MEBIBYTE,
      isDraining,
      tracing: options.tracing ?? null,
    });
    this.#decider = requestDecider({ health, admission, log, onDecision });
    this.#app = httpListener({
      limits: { ...DEFAULT_HTTP_LIMITS, ...options.http },
      guard: new ConnectionGuard(clock, onDecision),
      trustProxy: options.trustProxy ?? [],
      isDraining,
      decider: this.#decider,
    });
  }

  get load(): IngressLoad {
    return { ...this.#control.load, waitingReceipts: this.#commits.waiting };
  }

  async listen({
    host,
    port,
  }: {
    readonly host: string;
    readonly port: number;
  }): Promise<{ readonly url: string }> {
    if (this.#closed !== null) throw new LaneheadError('invalid_argument', 'this ingress was closed');
    this.#listening = this.#app.listen({ host, port });
    await this.#listening;
    const address = this.#app.server.address() as AddressInfo;
    const name = address.family === 'IPv6' ? `[${address.address}]` : address.address;
    return { url: `http://${name}:${address.port}` };
  }

  handle(request: Request): Promise<Response> {
    return answerFetch(request, this.#decider);
  }

  beginDrain(): void {
    this.#draining = true;
  }

  close({ timeoutMs }: { readonly timeoutMs: number }): Promise<void> {
    this.#closed ??= this.#close(timeoutMs);
    return this.#closed;
  }

  async #close(timeoutMs: number): Promise<void> {
    this.beginDrain();
    await this.#settled(timeoutMs);
    // A port that is just being opened is closed as well: opening first ends, in whatever way.
    await this.#listening?.catch(() => {});
    const cancel = this.#clock.after(CLOSE_GRACE_MS, () => this.#app.server.closeAllConnections());
    await this.#app.close();
    cancel();
  }

  #settled(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#clock.after(timeoutMs, resolve);
      this.#control.onIdle(() => {
        cancel();
        resolve();
      });
    });
  }
}

function admissionControl(options: IngressOptions, commits: GroupCommit): AdmissionControl {
  const { groupUnits, deadlineMs } = commits;
  return new AdmissionControl({
    clock: options.clock,
    random: options.random,
    inFlight: options.inFlight ?? DEFAULT_IN_FLIGHT,
    unverified: options.unverified ?? DEFAULT_UNVERIFIED,
    shed: { targetMs: options.targetWaitMs ?? DEFAULT_TARGET_WAIT_MS, burstMs: deadlineMs / 2, groupUnits },
    unitsOf: (bytes) => commits.unitsOf(bytes),
    loadOf: (namespace) => commits.loadOf(namespace),
  });
}

function groupCommit(options: IngressOptions, onEnded: (report: CommitReport) => void): GroupCommit {
  const { store, clock, log, onCommitted, onCommitEnded, groupCommit: bounds } = options;
  const observer = guarded(onCommitEnded ?? (() => {}), log, 'the commit observer failed');
  return new GroupCommit({
    ...bounds,
    clock,
    materialize: (request) => store.materialize(request),
    onCommitted: guarded(onCommitted, log, 'waking the scheduler failed'),
    onCommitEnded(report) {
      onEnded(report);
      observer(report);
    },
    onFailure: (packId, error) => log.error({ packId, error: describeError(error) }, 'a commit failed'),
  });
}

/** A listener that fails never breaks the work it listens to. */
function guarded<Told extends readonly unknown[]>(
  listener: (...told: Told) => void,
  log: Logger,
  message: string,
): (...told: Told) => void {
  return (...told) => {
    try {
      listener(...told);
    } catch (error) {
      log.error({ error: describeError(error) }, message);
    }
  };
}
