import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import type { Clock } from '../core/clock.js';
import { LaneheadError } from '../core/errors.js';
import type { NewId } from '../core/ids.js';
import type { Tracing } from '../core/tracing.js';
import type { Enqueued } from '../core/work.js';
import type { Store } from '../store/store.js';
import { Admission } from './admission.js';
import { ConnectionGuard } from './connection-guard.js';
import type { DecisionObserver } from './decision.js';
import { describeError } from './describe-error.js';
import { answerFetch } from './fetch-handler.js';
import { type CommitReport, GroupCommit, type GroupCommitOptions } from './group-commit.js';
import { Health, type HealthCheck } from './health.js';
import { DEFAULT_HTTP_LIMITS, type HttpLimits, httpListener } from './http-listener.js';
import { InFlight, type InFlightLimits } from './in-flight.js';
import { type RequestDecider, requestDecider } from './request-decider.js';
import type { ResolveRoute } from './route-table.js';

export interface IngressOptions {
  readonly store: Pick<Store, 'materialize'>;
  readonly resolve: ResolveRoute;
  readonly clock: Clock;
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
  /** Default 4,096 requests and 256 MiB. */
  readonly inFlight?: InFlightLimits;
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
  /** Requests admitted and not yet answered, and the bytes of their bodies. */
  readonly requests: number;
  readonly bytes: number;
  /** Receipts that wait for a commit. */
  readonly waitingReceipts: number;
}

const MEBIBYTE = 2 ** 20;
/** For connections that are owed nothing any more, but that their client does not close. */
const CLOSE_GRACE_MS = 500;

export function createIngress(options: IngressOptions): Ingress {
  return new HttpIngress(options);
}

class HttpIngress implements Ingress {
  readonly #clock: Clock;
  readonly #inFlight: InFlight;
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
    this.#inFlight = new InFlight(options.inFlight ?? { requests: 4_096, bytes: 256 * MEBIBYTE });
    this.#commits = groupCommit(options);
    const health = new Health({ checks: options.checks, clock, isDraining });
    const admission = new Admission({
      resolve: options.resolve,
      commits: this.#commits,
      inFlight: this.#inFlight,
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
    const { requests, bytes } = this.#inFlight;
    return { requests, bytes, waitingReceipts: this.#commits.waiting };
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
      this.#inFlight.onIdle(() => {
        cancel();
        resolve();
      });
    });
  }
}

function groupCommit(options: IngressOptions): GroupCommit {
  const { store, clock, log, onCommitted, onCommitEnded, groupCommit: bounds } = options;
  return new GroupCommit({
    ...bounds,
    clock,
    materialize: (request) => store.materialize(request),
    onCommitted: guarded(onCommitted, log, 'waking the scheduler failed'),
    onCommitEnded: guarded(onCommitEnded ?? (() => {}), log, 'the commit observer failed'),
    onFailure: (packId, error) => log.error({ packId, error: describeError(error) }, 'a commit failed'),
  });
}

/** A listener that fails never breaks the work it listens to. */
function guarded<T extends readonly unknown[]>(
  listener: (...values: T) => void,
  log: Logger,
  message: string,
): (...values: T) => void {
  return (...values) => {
    try {
      listener(...values);
    } catch (error) {
      log.error({ error: describeError(error) }, message);
    }
  };
}
