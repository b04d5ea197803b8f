/** The real store of one thread, with notes of what is asked of it and of every error that it may not have. */
import { isLaneheadError } from '../../src/core/errors.js';
import type { Lease } from '../../src/core/work.js';
import {
  type ClaimRequest,
  type ClaimResult,
  Contention,
  type Store,
  StoreOutage,
} from '../../src/store/store.js';
import type { Hardships } from './hardships.js';
import type { Ledger } from './ledger.js';
import type { World } from './world.js';

export interface StoreWatch {
  readonly world: World;
  readonly ledger: Ledger;
  readonly life: string;
  readonly hardships: Hardships;
  /** Told before each look and each claim. */
  readonly scanning: (packId: number) => void;
  /** What it is about to ask of the queue; `null`: a look. Says who asks. */
  readonly asks: (packId: number, request: ClaimRequest | null) => string;
  readonly probe: Store['pressure'];
  /** Told before each claim. */
  readonly claiming: (token: string) => void;
  /** Asked before each renewal; says why it must not be made. */
  readonly renewing: (workIds: readonly string[]) => string | null;
  /** Whether a commit since then renewed it; `since`: of the world. */
  readonly isRenewed: (lease: Lease, since: number) => boolean;
  /** The store said that these are gone. */
  readonly lost: (leases: readonly Lease[]) => void;
}

export function watchedStore(real: Store, watch: StoreWatch): Store {
  const { world, ledger, life } = watch;
  const scans = new Map<number, number>();

  const guarded = async <T>(verb: string, work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      const known = error instanceof StoreOutage || error instanceof Contention || isLaneheadError(error);
      if (!known) world.violation('bug', life, `${verb} threw ${(error as Error).stack ?? error}`);
      throw error;
    }
  };

  /** SCH-2: never two scanners of one pack in one process. */
  const scanning = async <T>(packId: number, work: () => Promise<T>): Promise<T> => {
    const others = scans.get(packId) ?? 0;
    if (others > 0) world.violation('two_scanners', life, `${others + 1} scans of pack ${packId} at once`);
    watch.scanning(packId);
    scans.set(packId, others + 1);
    try {
      return await work();
    } finally {
      scans.set(packId, scans.get(packId)! - 1);
    }
  };

  /** What the store grants was committed since it was asked for. */
  const granted = (leases: readonly Lease[], askedAt: number): void => {
    for (const lease of leases)
      if (!watch.isRenewed(lease, askedAt))
        world.violation('stale_token', life, `was told that ${lease.workId}@${lease.epoch} is renewed`);
  };

  const renewing = async <T>(work: Promise<T>): Promise<T> => {
    const answered = watch.hardships.renewals.waits(life);
    try {
      return await work;
    } catch (error) {
      watch.hardships.renewals.fails(life);
      throw error;
    } finally {
      answered();
    }
  };

  const claiming = async (request: ClaimRequest, verb: 'claim' | 'reclaimStale'): Promise<ClaimResult> => {
    const { packId, token } = request;
    watch.claiming(token);
    const askedAt = world.now;
    ledger.claimSentAt.set(token, askedAt);
    ledger.openClaims.add(token);
    ledger.claims.set(token, { ...request, scanner: watch.asks(packId, request) });
    const result = await scanning(packId, () => guarded(verb, real[verb](request)));
    ledger.openClaims.delete(token);
    // What an earlier try had taken is taken anew: its caller counts the lease from this one.
    granted(
      result.items.map(({ lease }) => lease),
      askedAt,
    );
    return result;
  };

  return {
    ...real,
    pressure: watch.probe,
    materialize: (request) => guarded('materialize', real.materialize(request)),
    peek: (scope) => {
      watch.asks(scope.packId, null);
      return scanning(scope.packId, () => guarded('peek', real.peek(scope)));
    },
    claim: (request) => claiming(request, 'claim'),
    reclaimStale: (request) => claiming(request, 'reclaimStale'),
    loadEvents: (eventIds) => guarded('loadEvents', real.loadEvents(eventIds)),
    finalize: (batch) => {
      for (const { lease, outcome } of batch) ledger.meant(lease, outcome.kind, world.now);
      return guarded('finalize', real.finalize(batch));
    },
    renew: async (leases, leaseMs) => {
      const problem = watch.renewing(leases.map((lease) => lease.workId));
      if (problem !== null) world.violation('renewed_dead', life, problem);
      for (const lease of leases) ledger.renews(lease);
      const askedAt = world.now;
      const result = await renewing(guarded('renew', real.renew(leases, leaseMs)));
      granted(result.renewed, askedAt);
      // A process may ask for one item twice, under its lease of before and under the new one.
      const epochs = new Map(result.renewed.map((lease) => [lease.workId, lease.epoch]));
      const lost = new Set(result.lost);
      watch.lost(leases.filter(({ workId, epoch }) => lost.has(workId) && epochs.get(workId) !== epoch));
      return result;
    },
    repairReadiness: (packId, cursor) => guarded('repairReadiness', real.repairReadiness(packId, cursor)),
  };
}
