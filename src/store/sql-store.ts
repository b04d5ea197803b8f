import type { Clock } from '../core/clock.js';
import { idMaker } from '../core/ids.js';
import type { Random } from '../core/random.js';
import type { Driver } from './driver.js';
import { migrate, schemaStatus } from './migrations/migrator.js';
import { type Plan, read } from './plan.js';
import { retrying } from './retrying.js';
import { ping } from './statements/migrate.js';
import type { ClaimRequest, InstalledPack, PoolGauges, Store } from './store.js';
import { act, preview } from './verbs/act.js';
import { listActions } from './verbs/actions.js';
import * as authority from './verbs/authority.js';
import * as claims from './verbs/claim.js';
import { listFailures } from './verbs/failures.js';
import { finalize } from './verbs/finalize.js';
import { repairReadiness } from './verbs/lanes.js';
import * as leases from './verbs/lease.js';
import { materialize, rematerialize } from './verbs/materialize.js';
import { peek } from './verbs/peek.js';
import * as reports from './verbs/reports.js';

export interface SqlStoreParts {
  readonly driver: Driver;
  /** Another pool on the same database, for admission alone (ADM-4, TRM-1). Default: `driver`. */
  readonly foreground?: Driver;
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * The Store: each verb is one plan in one transaction, tried again while it meets contention. In the foreground run the
 * durable enqueue, the look-up of what is installed, and what readiness asks: a full drain must not turn traffic away.
 */
export function createSqlStore({ driver, foreground = driver, clock, random }: SqlStoreParts): Store {
  const within = <T>(plan: (attempt: number) => Plan<T>, by: Driver = driver): Promise<T> =>
    retrying(clock, random, (attempt) => by.transaction(() => plan(attempt)));
  const asking = <T>(plan: () => Plan<T>): Promise<T> => retrying(clock, random, () => driver.query(plan));

  const newId = idMaker(clock, random);

  return {
    engine: driver.dialect.name,

    async installPacks(installations) {
      const installed: InstalledPack[] = [];
      for (const installation of installations) {
        installed.push(await within(() => authority.installPack(installation)));
      }
      return installed;
    },
    listPacks: () => retrying(clock, random, () => foreground.query(authority.listPacks)),
    setPackStatus: (packId, status) => within(() => authority.setPackStatus(packId, status)),

    materialize: (request) => within(() => materialize(request), foreground),
    rematerialize: (request) => within(() => rematerialize(request)),

    honorsClaimWorkTypes: () => true,
    peek: (scope) => asking(() => peek(scope)),
    claim: (request) => within((attempt) => claims.claim(request, adopts(request, attempt))),
    claimForEvent: (request, eventId) =>
      within((attempt) => claims.claimForEvent(request, eventId, adopts(request, attempt))),
    reclaimStale: (request) =>
      within((attempt) => claims.claim({ ...request, mode: 'stale' }, adopts(request, attempt))),
    resolveActiveGeneration: (packId) => asking(() => authority.resolveActiveGeneration(packId)),
    loadEvent: async (eventId) => (await asking(() => leases.loadEvents([eventId])))[0] ?? null,
    loadEvents: (eventIds) => asking(() => leases.loadEvents(eventIds)),
    finalize: (batch) => within(() => finalize(batch)),
    renew: (held, leaseMs) => within(() => leases.renew(held, leaseMs)),
    repairReadiness: (packId, cursor) =>
      within(() => repairReadiness(packId, 'connector_event', cursor ?? -1)),

    coverageStep: (cursor) => asking(() => reports.coverageStep(cursor)),

    act: (request, options = {}) => within(() => act(request, options, newId)),
    preview: (request, position) => asking(() => preview(request, position)),

    stats: ({ exact }) => asking(() => reports.stats(exact)),
    queueGauges: (packIds) => asking(() => reports.queueGauges(packIds)),
    listEvents: (filter) => asking(() => reports.listEvents(filter)),
    showEvent: (eventId) => asking(() => reports.showEvent(eventId)),
    listReceipts: (filter) => asking(() => reports.listReceipts(filter)),
    loadReceipt: (receiptId) => asking(() => reports.loadReceipt(receiptId)),

    listFailures: (filter) => asking(() => listFailures(filter)),
    listActions: (filter) => asking(() => listActions(filter)),

    schemaStatus: () => schemaStatus(foreground),
    migrate: () => migrate(driver),
    pressure: async () => ({ ...driver.pressure(), inboxDepth: null }),
    pools: async () => poolsOf(driver, foreground),
    ping: async () => void (await foreground.query(() => read(ping))),
    close: async () =>
      void (await Promise.all([driver.close(), foreground === driver || foreground.close()])),
  };
}

/** From the second try on, what an unanswered COMMIT claimed under this token is adopted. */
const adopts = ({ repeat = false }: ClaimRequest, attempt: number): boolean => repeat || attempt > 1;

function poolsOf(driver: Driver, foreground: Driver): PoolGauges {
  const named = foreground === driver ? { shared: driver } : { drain: driver, admission: foreground };
  return Object.fromEntries(
    Object.entries(named).flatMap(([name, one]) => {
      const gauge = one.pool();
      return gauge === null ? [] : [[name, gauge]];
    }),
  );
}
