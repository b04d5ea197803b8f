/** What a claim took, beside everything that it could have taken: whole claims, as they were committed. */
import type { AskedClaim, Ledger } from './ledger.js';
import type { LimitRules } from './limit-rules.js';
import type { ItemBreach } from './row-audit.js';
import type { MirrorItem, RowMirror } from './row-mirror.js';

export interface ClaimRuleContext {
  readonly mirror: RowMirror;
  readonly ledger: Ledger;
  readonly limits: LimitRules;
  /** When the transaction that is being committed began, by the database's clock. */
  readonly beganAt: () => number;
  /** Marks that a fault took away: nobody sees these heads. */
  readonly lostHints: ReadonlySet<MirrorItem>;
}

/** A claim whose transaction is being committed, with what it found. */
export interface OpenClaim {
  readonly token: string;
  readonly asked: AskedClaim;
  /** By the database's clock. */
  readonly at: number;
  /** Heads that were due for slots of these classes. */
  readonly waiting: readonly MirrorItem[];
  readonly pendingBefore: ReadonlySet<MirrorItem>;
}

/** Claims that may pass over an item before one takes the oldest: those of a single slot, see shapes.ts. */
const MOST_PASSED = 3;

export class ClaimRules {
  readonly #context: ClaimRuleContext;
  /** By scanner and item: claims with a preference that passed over it, in a row. */
  readonly #passed = new Map<string, Map<string, Set<string>>>();

  constructor(context: ClaimRuleContext) {
    this.#context = context;
  }

  /** Before anything of its transaction is known; `undefined`: it is nobody's claim. */
  open(token: string, at: number): OpenClaim | undefined {
    const { mirror, ledger, lostHints, beganAt } = this.#context;
    const asked = ledger.claims.get(token);
    if (asked === undefined) return undefined;
    // Time passes within a transaction, and what it looked at was looked at in the beginning.
    const from = Math.min(at, beganAt());
    const items = [...mirror.items.values()].filter(({ packId }) => packId === asked.packId);
    const pending = items.filter(({ now }) => now.state === 'pending');
    const waiting = pending.filter(
      (item) =>
        item.now.runAfter <= from &&
        mayTake(asked, item) &&
        canRun(asked, item) &&
        item.now.generation <= asked.generation &&
        item.now.readiness !== 0 &&
        !lostHints.has(item) &&
        mirror.isHead(item),
    );
    return { token, asked, at, waiting, pendingBefore: new Set(pending) };
  }

  /** When its transaction is over. */
  *breaches(claim: OpenClaim): Generator<ItemBreach> {
    const { token, asked, pendingBefore } = claim;
    const { mirror } = this.#context;
    const taken = [...mirror.items.values()].filter(
      ({ now }) => now.state === 'processing' && now.token === token,
    );
    for (const item of taken) {
      if (!canRun(asked, item) && pendingBefore.has(item))
        yield [item, ['wrong_outcome', `claimed for route ${item.route}, which its process cannot run`]];
      if (!mayTake(asked, item)) yield [item, ['queue_class', `of ${item.queueClass}, for other slots`]];
    }
    if (taken.length > asked.maxClaims)
      yield [taken[0]!, ['phantom_permit', `${taken.length} items for ${asked.maxClaims} permits`]];
    const fresh = taken.filter((item) => pendingBefore.has(item));
    if (asked.mode === 'stale' && fresh.length > 0)
      yield [fresh[0]!, ['limiter', 'fresh work was claimed where only expired leases may be']];
    if (asked.mode !== 'any') return;
    if (asked.preference.length === 0) this.#passed.delete(asked.scanner);
    yield* this.#passing(claim, fresh, taken.length);
  }

  /** QCL-4, QCL-6: of what was due and within its limits, a claim takes the first ones, by preference and by age. */
  *#passing(claim: OpenClaim, fresh: readonly MirrorItem[], taken: number): Generator<ItemBreach> {
    const { asked, waiting, at } = claim;
    const { mirror, limits } = this.#context;
    const hasRoom = taken < asked.maxClaims && mirror.processing(asked.packId) < asked.processingBudget;
    const before = (one: MirrorItem, other: MirrorItem): boolean =>
      tierOf(asked, one) - tierOf(asked, other) < 0 ||
      (tierOf(asked, one) === tierOf(asked, other) && one.ordinal < other.ordinal);
    for (const item of waiting) {
      if (item.now.state !== 'pending' || !mirror.isHead(item)) continue;
      // Of two sources, one may be over its limit: those of it are put aside.
      if (limits.declared?.source && !limits.allows(mirror, item, at)) continue;
      const passedBy = fresh.find((other) => before(item, other));
      if (passedBy !== undefined && !limits.declared?.source)
        yield [item, ['queue_order', `${passedBy.item} was claimed before it`]];
      if (hasRoom && limits.declared === null)
        yield [item, ['idle_slot', `left by a claim that brought ${taken} of ${asked.maxClaims}`]];
      if (fresh.some((other) => other.ordinal > item.ordinal)) yield* this.#count(claim, item);
    }
  }

  /** A preference passes over the others, but not for ever; one that has slots of its own beside it may. */
  *#count({ asked, token }: OpenClaim, item: MirrorItem): Generator<ItemBreach> {
    if (!asked.preference.includes('interactive')) return;
    const passed = this.#passed.get(asked.scanner) ?? new Map<string, Set<string>>();
    this.#passed.set(asked.scanner, passed);
    const tokens = passed.get(item.workId) ?? new Set();
    passed.set(item.workId, tokens.add(token));
    if (tokens.size > MOST_PASSED)
      yield [item, ['starved', `passed over by ${tokens.size} claims of ${asked.scanner}`]];
  }
}

const mayTake = ({ queueClasses }: AskedClaim, { queueClass }: MirrorItem): boolean =>
  queueClasses.length === 0 || queueClasses.includes(queueClass);

/** EXE-6: what its process does not know, or not in this version, it leaves to others. */
function canRun({ runnable }: AskedClaim, { route, routeVersion }: MirrorItem): boolean {
  const known = runnable?.routes[route];
  return known === undefined ? !runnable?.isBehind : routeVersion <= known;
}

const tierOf = ({ preference }: AskedClaim, { queueClass }: MirrorItem): number =>
  preference.length === 0 || preference.includes(queueClass) ? 0 : 1;
