import { type RunRecord, runKey, type SentItem, type Transition, type Violation } from './history.js';

const TERMINAL = new Set(['completed', 'skipped', 'dead', 'coalesced']);

/** How the product names the end of a lease that was not renewed in time. */
const LEASE_EXPIRED = 'lease_expired';

const isExpiry = ({ failure }: Transition): boolean => failure === LEASE_EXPIRED;

/** Keys (`runKey`) of the leases that ran out and were taken from their holders. */
export function expiredLeases(transitions: readonly Transition[]): ReadonlySet<string> {
  return new Set(transitions.filter(isExpiry).map(runKey));
}

export function transitionViolations(
  items: ReadonlyMap<string, SentItem>,
  runs: readonly RunRecord[],
  transitions: readonly Transition[],
): readonly Violation[] {
  const finished = new Set(
    runs.flatMap((run) => (run.kind === 'ended' && run.how === 'finished' ? [runKey(run)] : [])),
  );
  const ended = new Set<string>();
  const epochs = new Map<string, number>();
  const running = new Map<string, Set<string>>();
  return transitions.flatMap((transition) => [
    ...endedTwice(transition, ended),
    ...leaseStolen(transition),
    ...completedUnrun(transition, finished),
    ...ownershipChanged(transition, epochs),
    ...lanesShared(transition, items, running),
  ]);
}

/** Terminal states are final. */
function endedTwice({ item, from, to }: Transition, ended: Set<string>): readonly Violation[] {
  if (!TERMINAL.has(to)) {
    return TERMINAL.has(from) ? [{ kind: 'revived', item, why: `was ${from}, became ${to}` }] : [];
  }
  const twice = ended.has(item) || TERMINAL.has(from);
  ended.add(item);
  return twice ? [{ kind: 'double_completion', item, why: `became ${to} after its end` }] : [];
}

function leaseStolen(transition: Transition): readonly Violation[] {
  const { item, at, leaseUntil } = transition;
  if (!isExpiry(transition) || (leaseUntil !== null && leaseUntil < at)) return [];
  return [{ kind: 'stolen_lease', item, why: `held until ${leaseUntil}, taken at ${at}` }];
}

function completedUnrun(transition: Transition, finished: ReadonlySet<string>): readonly Violation[] {
  const { item, to } = transition;
  if (to !== 'completed' || finished.has(runKey(transition))) return [];
  return [{ kind: 'completed_unrun', item, why: `no run of ${runKey(transition)} finished` }];
}

/** Only a claim raises the epoch, and it always does. */
function ownershipChanged(transition: Transition, epochs: Map<string, number>): readonly Violation[] {
  const { item, to, epoch } = transition;
  const before = epochs.get(item) ?? 0;
  epochs.set(item, epoch);
  if (to === 'processing' ? epoch > before : epoch === before) return [];
  return [{ kind: 'stale_epoch', item, why: `epoch ${before}, then ${epoch} as ${to}` }];
}

function lanesShared(
  { item, from, to }: Transition,
  items: ReadonlyMap<string, SentItem>,
  running: Map<string, Set<string>>,
): readonly Violation[] {
  const lane = items.get(item)?.lane ?? '';
  const others = running.get(lane) ?? new Set();
  running.set(lane, others);
  if (from === 'processing') others.delete(item);
  if (to !== 'processing') return [];
  const found = [...others].map((other): Violation => {
    return { kind: 'overlap', item, why: `claimed while ${other} of its lane was in processing` };
  });
  others.add(item);
  return found;
}
