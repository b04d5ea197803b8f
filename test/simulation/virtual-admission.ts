import { idMaker } from '../../src/core/ids.js';
import type { Enqueued } from '../../src/core/work.js';
import { Admission } from '../../src/ingress/admission.js';
import { AdmissionControl } from '../../src/ingress/admission-control.js';
import { GroupCommit } from '../../src/ingress/group-commit.js';
import type { ResolveRoute } from '../../src/ingress/route-table.js';
import type { Store } from '../../src/store/store.js';
import type { Seeded } from './seeded.js';
import type { VirtualClock } from './virtual-clock.js';

export interface VirtualAdmissionParts {
  readonly store: Pick<Store, 'materialize'>;
  readonly resolve: ResolveRoute;
  readonly clock: VirtualClock;
  readonly random: Seeded;
  readonly gatherMs: number;
  readonly isDraining: () => boolean;
  readonly onCommitted: (enqueued: Enqueued) => void;
}

/** The product's admission with bounds that a few deliveries reach. */
export function openAdmission(parts: VirtualAdmissionParts): Admission {
  const { store, resolve, clock, random, gatherMs, isDraining, onCommitted } = parts;
  const commits = new GroupCommit({
    materialize: (request) => store.materialize(request),
    clock,
    onCommitted,
    onFailure: () => undefined,
    gatherMs,
    onCommitEnded: (report) => control.commitEnded(report),
    maxReceipts: 8,
    deadlineMs: 3_000,
  });
  const bounds = { requests: 64, bytes: 2 ** 20 };
  const control = new AdmissionControl({
    clock,
    random,
    inFlight: bounds,
    unverified: bounds,
    shed: { targetMs: 500, burstMs: 1_500, groupUnits: commits.groupUnits },
    unitsOf: (bytes) => commits.unitsOf(bytes),
    loadOf: (namespace) => commits.loadOf(namespace),
  });
  const newId = idMaker(clock, random);
  return new Admission({ resolve, commits, control, clock, newId, maxBodyBytes: 2 ** 20, isDraining });
}
