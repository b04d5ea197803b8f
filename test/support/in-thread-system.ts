/**
 * Ingress, supervisor and signals over one SQLite file in this thread, wired as the runtime wires them: for tests that
 * look at what a running system says, where nothing may depend on a build.
 */
import { createHmac } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Level, pino } from 'pino';
import { expect, onTestFinished } from 'vitest';
import type { Clock } from '../../src/core/clock.js';
import { Foreground } from '../../src/core/foreground.js';
import { idMaker } from '../../src/core/ids.js';
import { systemClock, systemNextTurn, systemRandom } from '../../src/core/system.js';
import { localLeaseKeeper } from '../../src/executor/lease-keeper-thread.js';
import { routesOf } from '../../src/ingress/route-table.js';
import { createIngress, type IngressOptions } from '../../src/ingress/server.js';
import { definePack } from '../../src/packs/define-pack.js';
import { signatures } from '../../src/packs/signatures.js';
import type { FlowLog, Pack, RouteInput } from '../../src/packs/types.js';
import { type LaneheadOptions, settingsOf } from '../../src/runtime/options.js';
import { redactingLogger } from '../../src/runtime/redacting-logger.js';
import { Signals } from '../../src/runtime/signals.js';
import { openSqliteStore } from '../../src/store/dialects/sqlite/open.js';
import type { ClassStats, Store } from '../../src/store/store.js';
import {
  createSupervisor,
  type Supervisor,
  type SupervisorOptions,
} from '../../src/supervisor/supervisor.js';
import { type Exposition, parseExposition } from './exposition.js';

export const SECRET = 'marker-secret';

export interface SystemOptions {
  readonly route?: Partial<RouteInput>;
  readonly options?: Partial<LaneheadOptions>;
  readonly ingress?: Partial<IngressOptions>;
  readonly supervisor?: Partial<SupervisorOptions>;
  /** Stands before the real one. */
  readonly store?: (real: Store) => Store;
  readonly level?: Level;
  readonly clock?: Clock;
}

export interface InThreadSystem {
  readonly supervisor: Supervisor;
  readonly store: Store;
  /** What was logged, line by line. */
  readonly lines: () => readonly Record<string, unknown>[];
  readonly logged: () => string;
  readonly handle: (request: Request) => Promise<Response>;
  readonly scrape: () => Promise<Exposition>;
  /** Nothing runs and nothing is ready any more. */
  readonly untilIdle: () => Promise<void>;
}

/** Signed deliveries to `/in/acme/code/push`. */
export function delivery(
  id: string,
  content: object = {},
  changes: RequestInit & { query?: string } = {},
): Request {
  const body = JSON.stringify({ source: id, ...content });
  const signature = `sha256=${createHmac('sha256', SECRET).update(body).digest('hex')}`;
  return new Request(`http://localhost/in/acme/code/push${changes.query ?? ''}`, {
    method: 'POST',
    body,
    ...changes,
    headers: { 'x-github-delivery': id, 'x-hub-signature-256': signature, ...changes.headers },
  });
}

function packWith(route: Partial<RouteInput>): Pack {
  const push: RouteInput = {
    version: 1,
    verify: signatures.github({ secret: SECRET }),
    materialize: (receipt) => {
      const { source } = receipt.json() as { source: string };
      const key = receipt.header('x-github-delivery');
      return { deliveries: [{ key, events: [{ type: 'push', sourceKey: source }] }] };
    },
    flow: () => undefined,
    ...(route as object),
  };
  return definePack({ name: 'code', version: '1.0.0', routes: { push } });
}

const flowLogOf = (log: pino.Logger): FlowLog => ({
  debug: (message, fields = {}) => log.debug(fields, message),
  info: (message, fields = {}) => log.info(fields, message),
  warn: (message, fields = {}) => log.warn(fields, message),
  error: (message, fields = {}) => log.error(fields, message),
});

/** Closed when the test is over. */
export async function openSystem(wanted: SystemOptions = {}): Promise<InThreadSystem> {
  const { clock = systemClock, level = 'debug' } = wanted;
  const folder = mkdtempSync(join(tmpdir(), 'lanehead-system-'));
  const random = systemRandom();
  const real = openSqliteStore({ path: join(folder, 'store.db'), clock, random });
  await real.migrate();
  const pack = packWith(wanted.route ?? {});
  const installed = await real.installPacks([{ namespace: 'acme', pack: 'code', version: '1.0.0' }]);
  const store = wanted.store?.(real) ?? real;
  const lines: string[] = [];
  const logger = pino({ level }, { write: (line: string) => void lines.push(line) });
  const log = redactingLogger(logger);
  const settings = settingsOf({ packs: [pack], namespaces: ['acme'], admin: { port: 0 }, ...wanted.options });
  const signals = await Signals.open({
    settings,
    store,
    served: () => installed.map((one) => ({ pack, installed: one })),
    clock,
    log: flowLogOf(log),
  });
  const foreground = new Foreground(clock);
  const supervisor = createSupervisor({
    store,
    packs: installed.map((one) => ({ pack, installed: one })),
    settings: { poll: { minMs: 5, maxMs: 50 }, ...settings.drain },
    leaseLink: localLeaseKeeper(store, clock),
    clock,
    random,
    nextTurn: systemNextTurn,
    log: flowLogOf(log),
    holder: 'test',
    foreground,
    tracing: signals.tracing,
    ...wanted.supervisor,
  });
  const ingress = createIngress({
    store: { materialize: (request) => foreground.admit(() => store.materialize(request)) },
    resolve: routesOf(installed.map((one) => ({ pack, installed: one }))),
    clock,
    random,
    newId: idMaker(clock, random),
    log,
    checks: {},
    onCommitted: ({ packId, queueClasses }) => supervisor.wake(packId, queueClasses),
    onCommitEnded: signals.onCommitEnded,
    onDecision: signals.onDecision,
    tracing: signals.tracing,
    ...wanted.ingress,
  });
  signals.watch(ingress, supervisor);
  await signals.logStart();
  supervisor.start();
  onTestFinished(async () => {
    await supervisor.stop({ timeoutMs: 0 });
    await ingress.close({ timeoutMs: 0 });
    signals.close();
    await real.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    supervisor,
    store,
    lines: () => lines.map((line) => JSON.parse(line) as Record<string, unknown>),
    logged: () => lines.join(''),
    handle: (request) => ingress.handle(request),
    scrape: async () => parseExposition((await signals.scrape!()).text),
    untilIdle: async () => {
      const isIdle = async (): Promise<boolean> => {
        const classes = Object.values((await real.stats({ exact: true })).packs[0]!.classes);
        return supervisor.heldLeases === 0 && classes.every((counts) => moving(counts) === 0);
      };
      await expect.poll(isIdle, { timeout: 20_000, interval: 5 }).toBe(true);
    },
  };
}

const moving = ({ ready, delayed, processing, stale }: ClassStats): number =>
  ready + delayed + processing + stale;
