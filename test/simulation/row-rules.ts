/** What may happen to one row, from one statement to the next. */

import { endedBreaches, mayAct } from './action-rules.js';
import type { Hardships } from './hardships.js';
import { type FlowRun, type Ledger, leaseKey } from './ledger.js';
import type { LimitRules } from './limit-rules.js';
import type { Breach } from './row-audit.js';
import { isOpen, type MirrorItem, type RowMirror, TERMINAL } from './row-mirror.js';
import type { ItemState } from './row-notes.js';

export interface RouteRules {
  readonly baseMs: number;
  readonly maxMs: number;
}

export interface RuleContext {
  readonly mirror: RowMirror;
  readonly ledger: Ledger;
  /** By route. */
  readonly retry: (route: string) => RouteRules;
  /** Whether a known key with other bytes is stored and not run; by route. */
  readonly holdsConflicts: (route: string) => boolean;
  readonly processingBudget: number;
  readonly limits: LimitRules;
  readonly leaseMs: number;
  readonly abandonMs: number;
  readonly hardships: Hardships;
  readonly databaseNow: () => number;
  /** When the transaction that is being committed began, by the database's clock. */
  readonly beganAt: () => number;
  /** What that transaction may have read off that clock before it jumped; none did: minus infinity. */
  readonly shownBefore: () => number;
  /** When the database's clock last jumped. */
  readonly jumpedAt: () => number;
  /** Since when nothing goes wrong any more. */
  readonly calmSince: () => number;
  /** Whether an installation is paused. */
  readonly isPaused: (packId: number) => boolean;
  /** Of the world. */
  readonly now: () => number;
}

interface Change {
  readonly item: MirrorItem;
  readonly from: ItemState;
  readonly to: ItemState;
  /** By the database's clock. */
  readonly at: number;
}

const NEXT: Readonly<Record<string, readonly string[]>> = {
  pending: ['pending', 'processing', 'coalesced'],
  processing: ['processing', 'pending', 'held', 'completed', 'skipped', 'dead'],
  held: ['held', 'pending', 'skipped', 'dead'],
};

export function* rowBreaches(context: RuleContext, change: Change): Generator<Breach> {
  const { from, to } = change;
  if (TERMINAL.has(from.state)) return yield* endedBreaches(context.ledger, change);
  if (from.state === 'pending' && to.state === 'skipped') return yield* cancelBreaches(context, change);
  if (!NEXT[from.state]?.includes(to.state)) {
    yield ['illegal_transition', `${from.state} became ${to.state}`];
    return;
  }
  if (from.state === 'held') return yield* decisionBreaches(context, change);
  yield* counterBreaches(change);
  if (from.state !== 'processing' && to.state === 'processing') yield* claimBreaches(context, change);
  else if (from.state === 'processing' && to.state === 'processing') yield* renewalBreaches(context, change);
  else if (from.state === 'processing') yield* endBreaches(context, change);
  else if (from.epoch !== to.epoch || from.failures !== to.failures)
    yield ['illegal_transition', `counted without a lease as ${to.state}`];
  if (to.state === 'coalesced' && (to.supersededBy === null || from.activeKey !== null))
    yield ['projection', 'coalesced though active, or by nobody'];
}

/** EXE-1: held until somebody decides; a retry has the whole budget again, and is due. */
function* decisionBreaches({ ledger }: RuleContext, { item, from, to, at }: Change): Generator<Breach> {
  const same = from.epoch === to.epoch && from.attempt === to.attempt && from.activeKey === to.activeKey;
  if (to.state === 'held') {
    if (!same || from.failures !== to.failures) yield ['illegal_transition', 'changed while it was held'];
    return;
  }
  if (!mayAct(ledger, { item, from, to }))
    yield ['wrong_outcome', `${to.state}, and decided was ${ledger.acting?.kind ?? 'nothing'}`];
  if (to.state === 'pending' && (!same || to.failures !== 0 || to.runAfter > at))
    yield ['wrong_outcome', `to be retried, with ${to.failures} failures, due in ${to.runAfter - at} ms`];
}

/** What is cancelled was pending, and nothing about it was counted. */
function* cancelBreaches({ ledger }: RuleContext, change: Change): Generator<Breach> {
  const { from, to } = change;
  if (!mayAct(ledger, change))
    yield ['wrong_outcome', `cancelled, and decided was ${ledger.acting?.kind ?? 'nothing'}`];
  if (
    from.epoch !== to.epoch ||
    from.attempt !== to.attempt ||
    from.failures !== to.failures ||
    to.activeKey !== null
  )
    yield ['illegal_transition', 'counted, or still active, as it was cancelled'];
}

/** Claims and failures are counted one by one, and nothing counts back. */
function* counterBreaches({ item, from, to }: Change): Generator<Breach> {
  const claims = to.state === 'processing' && from.state !== 'processing' ? 1 : 0;
  if (to.epoch - from.epoch !== claims) yield ['stale_epoch', `epoch ${from.epoch} became ${to.epoch}`];
  if (to.attempt - from.attempt !== claims)
    yield ['illegal_transition', `attempt ${from.attempt} became ${to.attempt}`];
  if (to.failures < from.failures || to.failures > from.failures + 1 || to.failures > item.budget)
    yield ['failure_count', `failures ${from.failures} became ${to.failures} of ${item.budget}`];
  if (to.generation < from.generation) yield ['illegal_transition', 'went back to an older incarnation'];
}

function* claimBreaches(
  { mirror, processingBudget, limits, leaseMs, isPaused }: RuleContext,
  change: Change,
): Generator<Breach> {
  const { item, from, to, at } = change;
  if (isPaused(item.packId)) yield ['out_of_service', 'claimed while its pack is paused'];
  const blocker = mirror.blocker(item);
  if (blocker !== undefined) yield ['lane_order', `claimed before ${blocker.item} (${blocker.now.state})`];
  if (!isOpen(item)) yield ['projection', 'a queued generation was claimed'];
  if (from.runAfter > at) yield ['premature', `claimed ${from.runAfter - at} ms before it was due`];
  if (to.token === null || to.token === from.token) yield ['stale_token', 'claimed without a fresh token'];
  if (to.leaseUntil !== at + leaseMs)
    yield ['illegal_transition', `leased for ${(to.leaseUntil ?? at) - at} ms`];
  if (mirror.processing(item.packId) + 1 > processingBudget)
    yield ['processing_budget', `${mirror.processing(item.packId) + 1} rows of ${processingBudget}`];
  yield* limits.breaches(mirror, item, at);
}

function* renewalBreaches(
  { ledger, leaseMs }: RuleContext,
  { item, from, to, at }: Change,
): Generator<Breach> {
  if (from.token !== to.token) yield ['stale_token', 'the token changed during a lease'];
  const adopted = ledger.openClaims.has(from.token ?? '');
  if (!adopted && !ledger.isRenewed(leaseKey(item.workId, from.epoch, from.token)))
    yield ['stale_token', 'renewed by somebody who does not hold it'];
  if (to.leaseUntil !== at + leaseMs)
    yield ['illegal_transition', `renewed for ${(to.leaseUntil ?? at) - at} ms`];
}

function* endBreaches(context: RuleContext, change: Change): Generator<Breach> {
  const { item, from, to, at } = change;
  const { ledger } = context;
  if (to.failures > from.failures && to.errorCode === 'lease_expired') {
    const latest = Math.max(at, context.shownBefore());
    if (from.leaseUntil === null || from.leaseUntil >= latest)
      yield ['stolen_lease', `held until ${from.leaseUntil}, taken at ${latest}`];
    yield* lateBreaches(context, item, ledger.run(item.item, from.epoch));
    yield* needlessBreaches(context, change);
    return yield* spentBreaches(change);
  }
  const key = leaseKey(item.workId, from.epoch, from.token);
  const kind = outcomeOf(change);
  if (!ledger.isMeant(key, kind)) return yield ['stale_token', `no holder of ${key} said ${kind}`];
  const run = ledger.run(item.item, from.epoch);
  if (!OUTCOMES[kind](run, ledger.readTrouble.has(item.item)))
    yield ['wrong_outcome', `${kind}, and its run ${describe(run)}`];
  if (kind === 'dead' && (to.state === 'held') !== (item.onDead === 'hold'))
    yield ['wrong_outcome', `${to.state} by its flow's word, on dead ${item.onDead}`];
  if (kind === 'failed') {
    yield* spentBreaches(change);
    yield* backoffBreaches(context, change, run);
  }
}

/** When a lease ends, its flow has been told to stop, or what it did was reported; unless its process could not. */
function* lateBreaches(context: RuleContext, item: MirrorItem, run: FlowRun | undefined): Generator<Breach> {
  const { now, jumpedAt, calmSince, leaseMs } = context;
  if (run === undefined || run.abandoned || !run.thread.alive) return;
  const since = now() - leaseMs;
  if (run.thread.pausedUntil > since || jumpedAt() > Math.min(item.claimedAt, since)) return;
  if (run.how === null && !run.signal.aborted)
    yield ['acting_past_lease', `its run of ${run.process} goes on and was not told`];
  if (run.how !== null && run.endedAt > calmSince() && run.endedAt < since)
    yield ['wrong_outcome', `its run of ${run.process} had ended, and nobody reported it`];
}

/**
 * Whoever lives and is well renews a lease, or reports, or gives back: it runs out for a cause. A process that has
 * gone, or one that claimed and was never answered, has one.
 */
function* needlessBreaches(context: RuleContext, { item, from }: Change): Generator<Breach> {
  const { ledger, leaseMs, abandonMs, now, jumpedAt, hardships } = context;
  const process = from.holder ?? '';
  if (ledger.isGone(process) || ledger.openClaims.has(from.token ?? '')) return;
  const run = ledger.run(item.item, from.epoch);
  if (run?.abandoned) return;
  const { statements, renewals } = hardships;
  const reportedAt = ledger.reportedAt(leaseKey(item.workId, from.epoch, from.token));
  // Until it runs, any statement may be in the way; while it reports again and again, it renews.
  const renews = reportedAt !== undefined && run !== undefined;
  const excusedAt = renews ? renewals.lastOf(process) : statements.lastOf(process);
  if (excusedAt >= item.leasedAt + leaseMs / 2 || jumpedAt() > item.leasedAt) return;
  // However often a report fails, it is given up, and renewing ends.
  if (now() - item.claimedAt > 2 * abandonMs || now() - (reportedAt ?? now()) > leaseMs) return;
  const did = run === undefined ? 'never ran it' : `${run.how ?? 'runs it'}`;
  yield ['needless_expiry', `${process} lives, ${did}, and let its lease run out at ${now()}`];
}

type OutcomeKind = 'completed' | 'skipped' | 'dead' | 'failed' | 'released';

function outcomeOf({ from, to }: Change): OutcomeKind {
  if (to.failures > from.failures) return 'failed';
  if (to.state === 'pending') return 'released';
  if (to.state === 'held') return 'dead';
  return to.state as OutcomeKind;
}

const DEADLINE = 'the flow deadline passed';

/** What a run must have done for its item to end so. A verdict or a return stands, whatever came before it. */
const OUTCOMES: Readonly<Record<OutcomeKind, (run: FlowRun | undefined, readTrouble: boolean) => boolean>> = {
  completed: (run) => run?.how === 'finished',
  skipped: (run) => run?.how === 'skip',
  dead: (run) => run?.how === 'dead',
  failed: (run, readTrouble) => {
    if (run === undefined) return readTrouble;
    return (
      run.abandoned || run.how === 'retry' || (run.how === 'threw' && (run.cause ?? DEADLINE) === DEADLINE)
    );
  },
  // It never ran, or it was told to stop for no fault of its own.
  released: (run) =>
    run === undefined || (run.how === 'threw' && run.cause !== null && run.cause !== DEADLINE),
};

const describe = (run: FlowRun | undefined): string =>
  run === undefined
    ? 'never started'
    : `${run.how ?? 'goes on'} (${run.cause ?? 'not aborted'})${run.abandoned ? ', abandoned' : ''}`;

/** With the last failure of its budget an item ends, and not before. */
function* spentBreaches({ item, to }: Change): Generator<Breach> {
  const spent = to.failures >= item.budget;
  const expected = spent ? (item.onDead === 'hold' ? 'held' : 'dead') : 'pending';
  if (to.state !== expected)
    yield ['failure_count', `${to.failures} of ${item.budget} failures, and ${to.state}`];
}

function* backoffBreaches(
  { retry }: RuleContext,
  { item, to, at }: Change,
  run: FlowRun | undefined,
): Generator<Breach> {
  if (to.state !== 'pending') return;
  const delayMs = to.runAfter - at;
  if (run?.how === 'retry' && !run.abandoned) {
    if (delayMs !== run.retryMs) yield ['backoff', `asked for ${run.retryMs} ms, due in ${delayMs}`];
    return;
  }
  const { baseMs, maxMs } = retry(item.route);
  const stepMs = Math.min(maxMs, baseMs * 2 ** (to.failures - 1));
  if (delayMs < Math.floor(stepMs / 2) || delayMs > Math.ceil(stepMs))
    yield ['backoff', `due in ${delayMs} ms after failure ${to.failures}, of a step of ${stepMs}`];
}
