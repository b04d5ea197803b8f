/**
 * The one place where the parts are wired.
 *
 *   created ──start()──▶ starting ──▶ serving ──stop()──▶ draining ──▶ closed
 *      │                     └──stop()──▶ given up ─────────────────────▲
 *      └──stop()────────────────────────────────────────────────────────┘
 *
 * given up: nothing is waited for any more, another process's migration least of all; what was opened is closed.
 * draining: not ready, new requests refused, no new claims; what runs ends or is released; then the store closes.
 */
import { hostname } from 'node:os';
import { type Logger, pino } from 'pino';
import { LaneheadError } from '../core/errors.js';
import { Foreground } from '../core/foreground.js';
import { idMaker } from '../core/ids.js';
import { systemClock, systemNextTurn, systemRandom } from '../core/system.js';
import { createIngress, type Ingress } from '../ingress/server.js';
import type { FlowLog, Pack } from '../packs/types.js';
import {
  type ActionFilter,
  type ActionRecord,
  type FailureFilter,
  type FailureGroup,
  openingFailure,
  type Page,
  type Stats,
  type WorkAction,
} from '../store/store.js';
import { createSupervisor, type Supervisor } from '../supervisor/supervisor.js';
import { openAdminListener } from './admin-listener.js';
import { CoverageSweep } from './coverage.js';
import { drainUntilIdle } from './idle.js';
import { Installations, requireSecrets } from './installations.js';
import { openServingStore, type ServingStore } from './open-store.js';
import { type LaneheadOptions, type Settings, settingsOf } from './options.js';
import { changePackStatus, type PackStatusChange } from './pack-status.js';
import { redactingLogger } from './redacting-logger.js';
import { Signals } from './signals.js';
import {
  runWorkAction,
  type WorkActionOptions,
  type WorkActionParts,
  type WorkActionResult,
} from './work-actions.js';

export interface Started {
  /** Where webhooks come in; `null` without `listen`. */
  readonly url: string | null;
  /** Where health is served; `null` without `admin`. */
  readonly adminUrl: string | null;
}

export interface Lanehead {
  /**
   * Migrates, installs, then serves. A second call answers the first one's result.
   * @throws LaneheadError `draining` when it was stopped before it was done
   */
  start(): Promise<Started>;
  /**
   * Not ready, then drains: flows in flight get `timeoutMs` (default 30,000) to end, what never ran is released, then
   * everything closes. Safe before `start`, during it, which it ends, and twice.
   */
  stop(options?: { readonly timeoutMs?: number }): Promise<void>;
  /**
   * Serves these packs from now on, and no others, without a stop: what is new is installed and starts, what changed is
   * replaced by its new definition, what is missing is refused with 404 and its open work waits for a process that
   * knows it. Flows in flight end under the definition they began with. All or nothing: when it rejects, this process
   * serves what it served before, and may be asked again. `namespaces`: default, those of before.
   * @throws LaneheadError `invalid_configuration` that names every wrong pack and every missing secret
   */
  usePacks(packs: readonly Pack[], options?: { readonly namespaces?: readonly string[] }): Promise<void>;
  /**
   * Refuses the pack's requests with 503 `paused` and claims none of its work, here when this resolves, in other
   * processes within two seconds. What runs ends by itself. `namespaces`: default, wherever it is installed.
   * @throws LaneheadError `not_found`, `invalid_argument` for a pack that is retired
   */
  pausePack(pack: string, options?: Pick<PackStatusChange, 'namespaces'>): Promise<void>;
  /** Takes a paused pack into service again, with what it has left. Throws as `pausePack` does. */
  resumePack(pack: string, options?: Pick<PackStatusChange, 'namespaces'>): Promise<void>;
  /**
   * Runs ended work once more, as new Events: one Event, a group of `failures`, or all that a filter finds. An item has
   * one child, whoever asks how often; replaying the child makes the next run.
   * @throws LaneheadError `invalid_argument`, `not_found`
   */
  replay(options: WorkActionOptions): Promise<WorkActionResult>;
  /**
   * Of held work `retry`: run it again, with its whole budget; `skip`, `end`: end it, and let its lane go on. `cancel`:
   * end pending work before it runs. Bounded steps, as a replay. Throws as `replay` does.
   */
  decide(kind: Exclude<WorkAction, 'replay'>, options: WorkActionOptions): Promise<WorkActionResult>;
  /** Dead and held work that nobody has decided on, in groups of one cause each, by page. */
  failures(filter?: Partial<FailureFilter>): Promise<Page<FailureGroup>>;
  /** What people did, newest first, by page: the audit log. */
  actions(filter?: Partial<ActionFilter>): Promise<Page<ActionRecord>>;
  /** Serves one request in the process, by the same decisions as the listener. After `start`. */
  handle(request: Request): Promise<Response>;
  /** `exact`: by the claim's own predicate instead of the readiness marks. */
  stats(options?: { readonly exact?: boolean }): Promise<Stats>;
  /** Resolves when nothing can move any more, retries included; rejects after `timeoutMs` (default 30,000). */
  drainUntilIdle(options?: { readonly timeoutMs?: number }): Promise<Stats>;
}

const DEFAULT_TIMEOUT_MS = 30_000;
/** Items on a page of a list, unless its caller says how many. */
const PAGE = 50;
/** A method is called again on another one, not sent to another process. */
const NOT_RUNNING = 'Call start() first; one that was stopped is over: make a new one with createLanehead.';

interface Parts {
  readonly opened: ServingStore;
  readonly installations: Installations;
  readonly coverage: CoverageSweep;
  readonly ingress: Ingress;
  readonly supervisor: Supervisor | null;
  readonly signals: Signals;
  readonly admin: { readonly url: string; close(): Promise<void> } | null;
  readonly url: string | null;
}

/** @throws LaneheadError `invalid_configuration` at once; `start` reports what the database says */
export function createLanehead(options: LaneheadOptions): Lanehead {
  const settings = settingsOf(options);
  let starting: Promise<Parts> | null = null;
  let stopping: Promise<void> | null = null;
  const stopped = new AbortController();
  const running = async (): Promise<Parts> => {
    if (starting === null || stopping !== null)
      throw new LaneheadError('draining', 'not started, or stopping', { action: NOT_RUNNING });
    return await starting;
  };
  /** A stop closes what a change needs: then that is why it failed. */
  const change = async <T>(work: (parts: Parts) => Promise<T>): Promise<T> => {
    const parts = await running();
    try {
      return await work(parts);
    } catch (error) {
      if (stopping === null) throw error;
      throw new LaneheadError('draining', 'it was stopped meanwhile', { cause: error, action: NOT_RUNNING });
    }
  };
  return {
    async start() {
      if (stopping !== null) throw new LaneheadError('draining', 'it was stopped', { action: NOT_RUNNING });
      starting ??= startParts(settings, stopped.signal);
      const { url, admin } = await starting;
      return { url, adminUrl: admin?.url ?? null };
    },
    stop({ timeoutMs = DEFAULT_TIMEOUT_MS } = {}) {
      stopped.abort();
      stopping ??= stopParts(starting, timeoutMs);
      return stopping;
    },
    usePacks: (packs, { namespaces } = {}) =>
      change(async ({ installations }) => {
        settingsOf({ ...options, packs, namespaces: namespaces ?? options.namespaces });
        await installations.use({ packs, namespaces });
      }),
    pausePack: (pack, { namespaces } = {}) =>
      change((parts) => changeStatus(parts, { pack, status: 'paused', namespaces })),
    resumePack: (pack, { namespaces } = {}) =>
      change((parts) => changeStatus(parts, { pack, status: 'active', namespaces })),
    replay: (options) => change((parts) => runWorkAction(actingParts(parts), 'replay', options)),
    decide: (kind, options) => change((parts) => runWorkAction(actingParts(parts), kind, options)),
    failures: async (filter = {}) => (await running()).opened.store.listFailures({ limit: PAGE, ...filter }),
    actions: async (filter = {}) => (await running()).opened.store.listActions({ limit: PAGE, ...filter }),
    handle: async (request) => (await running()).ingress.handle(request),
    stats: async ({ exact = false } = {}) => (await running()).opened.store.stats({ exact }),
    drainUntilIdle: async ({ timeoutMs = DEFAULT_TIMEOUT_MS } = {}) =>
      drainUntilIdle((await running()).opened.store, systemClock, timeoutMs),
  };
}

const actingParts = ({ opened, supervisor }: Parts): WorkActionParts => ({
  store: opened.store,
  clock: systemClock,
  newId: idMaker(systemClock, systemRandom()),
  onEnqueued: ({ packId, queueClasses }) => supervisor?.wake(packId, queueClasses),
});

async function changeStatus({ opened, installations }: Parts, change: PackStatusChange): Promise<void> {
  await changePackStatus(opened.store, change);
  await installations.refresh();
}

/** What has been opened is closed again, last first, when something after it fails. */
async function startParts(settings: Settings, stopped: AbortSignal): Promise<Parts> {
  const closers: (() => unknown)[] = [];
  try {
    return await openParts(settings, unlessStopped(stopped), (close) => closers.push(close));
  } catch (error) {
    for (const close of closers.reverse()) await close();
    throw openingFailure(error);
  }
}

/** Leaves `work` to itself when the signal aborts: for what ends with the store, however long it would wait. */
type UnlessStopped = <T>(work: Promise<T>) => Promise<T>;

function unlessStopped(stopped: AbortSignal): UnlessStopped {
  const givenUp = new Promise<never>((_, reject) => {
    stopped.addEventListener('abort', () =>
      reject(new LaneheadError('draining', 'stopped while it started')),
    );
  });
  givenUp.catch(() => undefined);
  return (work) => Promise.race([givenUp, work]);
}

async function openParts(
  settings: Settings,
  unlessStopped: UnlessStopped,
  onFailure: (close: () => unknown) => void,
): Promise<Parts> {
  const log = redactingLogger(settings.logger ?? silentLog());
  // Before a file is created or a schema changed for what could not serve.
  requireSecrets(settings);
  const opened = await openServingStore(settings);
  onFailure(() => opened.close());
  for (const warning of opened.warnings) log.warn({ engine: opened.store.engine }, warning);
  await unlessStopped(opened.store.migrate());
  const installations = new Installations(opened.store, systemClock, ({ pack, installed }) =>
    log.warn(
      {
        pack: pack.name,
        namespace: installed.namespace,
        version: pack.version,
        installed: installed.version,
      },
      'an older version of the pack than the installed one is served: events it does not know wait for the newer one',
    ),
  );
  onFailure(() => installations.close());
  await unlessStopped(installations.use(settings));
  const signals = await openSignals({ settings, opened, installations, log });
  onFailure(() => signals.close());
  const foreground = new Foreground(systemClock, { alternates: opened.store.engine === 'sqlite' });
  const supervisor =
    settings.role === 'ingress'
      ? null
      : await openSupervisor({ settings, opened, installations, signals, foreground, log });
  onFailure(() => supervisor?.stop({ timeoutMs: 0 }));
  const coverage = new CoverageSweep(opened.store, systemClock, (error) =>
    log.warn({ err: error }, 'the coverage check failed'),
  );
  const ingress = openIngress({
    settings,
    opened,
    installations,
    signals,
    foreground,
    supervisor,
    coverage,
    log,
  });
  onFailure(() => ingress.close({ timeoutMs: 0 }));
  signals.watch(ingress, supervisor);
  const admin =
    settings.admin && signals.scrape
      ? await openAdminListener(settings.admin, (request) => ingress.handle(request), signals.scrape)
      : null;
  onFailure(() => admin?.close());
  const url = settings.listen ? (await ingress.listen({ host: '127.0.0.1', ...settings.listen })).url : null;
  await unlessStopped(signals.logStart());
  supervisor?.start();
  installations.follow(supervisor);
  void coverage.run();
  return { opened, coverage, installations, ingress, supervisor, signals, admin, url };
}

function openSignals({
  settings,
  opened,
  installations,
  log,
}: Omit<Wired, 'signals' | 'foreground'>): Promise<Signals> {
  return Signals.open({
    settings,
    store: opened.store,
    served: () => installations.served,
    clock: systemClock,
    log: flowLog(log),
  });
}

async function openSupervisor(wired: Wired): Promise<Supervisor> {
  const { settings, opened, installations, signals, foreground, log } = wired;
  return createSupervisor({
    foreground,
    store: opened.store,
    packs: installations.served,
    ...(settings.drain === undefined ? {} : { settings: settings.drain }),
    leaseLink: await opened.leaseLink((error) => log.error({ err: error }, 'the lease thread failed')),
    clock: systemClock,
    random: systemRandom(),
    nextTurn: systemNextTurn,
    log: flowLog(log),
    holder: `${hostname()}/${process.pid}`,
    tracing: signals.tracing,
  });
}

type Wired = Pick<Parts, 'opened' | 'installations' | 'signals'> & {
  readonly settings: Settings;
  readonly foreground: Foreground;
  readonly log: Logger;
};

function openIngress(wired: Wired & Pick<Parts, 'supervisor' | 'coverage'>): Ingress {
  const { settings, opened, installations, signals, foreground, supervisor, coverage, log } = wired;
  const { store } = opened;
  const { admission } = settings;
  return createIngress({
    store: { materialize: (request) => foreground.admit(() => store.materialize(request)) },
    resolve: settings.role === 'worker' ? () => null : installations.resolve,
    clock: systemClock,
    random: systemRandom(),
    newId: idMaker(systemClock, systemRandom()),
    log,
    checks: {
      store: () => store.ping(),
      schema: async () => requireNothingPending(await store.schemaStatus()),
      coverage: coverage.check,
    },
    onCommitted: ({ packId, queueClasses }) => supervisor?.wake(packId, queueClasses),
    onCommitEnded: signals.onCommitEnded,
    onDecision: signals.onDecision,
    tracing: signals.tracing,
    maxBodyBytes: settings.maxBodyBytes,
    targetWaitMs: admission.targetWaitMs,
    groupCommit: { deadlineMs: admission.commitDeadlineMs },
    inFlight: { requests: admission.maxInFlightRequests, bytes: admission.maxInFlightBytes },
    unverified: { requests: admission.maxUnverifiedRequests, bytes: admission.maxUnverifiedBytes },
    ...(settings.trustProxy === undefined ? {} : { trustProxy: settings.trustProxy }),
  });
}

function requireNothingPending(status: { readonly pending: readonly string[] }): void {
  if (status.pending.length > 0) throw new LaneheadError('schema_missing', status.pending.join(', '));
}

async function stopParts(starting: Promise<Parts> | null, timeoutMs: number): Promise<void> {
  let parts: Parts;
  try {
    if (starting === null) return;
    parts = await starting;
  } catch {
    return; // start failed and cleaned up after itself; its caller has the error.
  }
  parts.ingress.beginDrain();
  parts.installations.close();
  parts.coverage.close();
  await Promise.all([parts.supervisor?.stop({ timeoutMs }), parts.ingress.close({ timeoutMs })]);
  await parts.admin?.close();
  parts.signals.close();
  await parts.opened.close();
}

/** Into nothing: pino's own destination would open the standard output, and leave a listener for the exit behind. */
function silentLog(): Logger {
  return pino({ level: 'silent' }, { write: () => undefined });
}

/** pino takes fields first; packs are given the message first. */
function flowLog(log: Logger): FlowLog {
  return {
    debug: (message, fields = {}) => log.debug(fields, message),
    info: (message, fields = {}) => log.info(fields, message),
    warn: (message, fields = {}) => log.warn(fields, message),
    error: (message, fields = {}) => log.error(fields, message),
  };
}
