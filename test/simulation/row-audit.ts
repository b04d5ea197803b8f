/**
 * Judges every commit by its rows, in two steps: each change by itself, in order (row-rules.ts), then what the
 * transaction leaves behind. Keeps the mirror and the transitions of the history on the way.
 */
import type { Lease } from '../../src/core/work.js';
import type { ViolationKind } from '../support/history.js';
import { childBreaches, unborn } from './action-rules.js';
import { ClaimRules, type OpenClaim } from './claim-rules.js';
import type { MirrorItem } from './row-mirror.js';
import { isOpen, RowMirror, TERMINAL } from './row-mirror.js';
import type { ItemIdentity, ItemState, RowNote } from './row-notes.js';
import { type RuleContext, rowBreaches } from './row-rules.js';
import type { World } from './world.js';

export type ItemBreach = readonly [item: MirrorItem, breach: Breach];
export type Breach = readonly [kind: ViolationKind, why: string];

const FREE = new Set(['event/pending', 'event/failed']);
const FENCED = 'work_item/skipped';
const EXPIRED = 'lease_expired';

export class RowAudit {
  readonly mirror = new RowMirror();
  readonly #world: World;
  readonly #context: RuleContext;
  readonly #touched = new Set<MirrorItem>();
  readonly #lastOrdinal = new Map<number, number>();
  /** Marks that a fault took away, until they are repaired. */
  readonly lostHints = new Set<MirrorItem>();
  repairedHints = 0;
  /** When an item of an installation was last claimed; of the world. */
  readonly claimedAt = new Map<number, number>();
  readonly #claims: ClaimRules;

  constructor(world: World, context: Omit<RuleContext, 'mirror'>) {
    this.#world = world;
    this.#context = { ...context, mirror: this.mirror };
    const { ledger, limits, beganAt } = context;
    this.#claims = new ClaimRules({
      mirror: this.mirror,
      ledger,
      limits,
      beganAt,
      lostHints: this.lostHints,
    });
  }

  /** The notes of one committed transaction. */
  committed(notes: readonly RowNote[]): void {
    const claim = this.#claimOf(notes);
    for (const note of notes) this.#take(note);
    if (claim !== undefined)
      for (const [{ item }, breach] of this.#claims.breaches(claim)) this.#breach(item, breach);
    for (const item of this.#touched) this.#settled(item);
    this.#touched.clear();
  }

  /** The claim that these notes are of, with what it found. */
  #claimOf(notes: readonly RowNote[]): OpenClaim | undefined {
    for (const note of notes) {
      if (note.kind !== 'item' || note.state.state !== 'processing') continue;
      if (this.mirror.items.get(note.workId)?.now.token === note.state.token) continue;
      return this.#claims.open(note.state.token ?? '', note.at);
    }
    return undefined;
  }

  #breach(item: string, [kind, why]: Breach): void {
    this.#world.violation(kind, item, why);
  }

  #take(note: RowNote): void {
    switch (note.kind) {
      case 'item in':
        this.#inserted(note.identity, note.state);
        break;
      case 'item':
        this.#changed(note.workId, note.state, note.at);
        break;
      case 'event in':
        this.mirror.addEvent(note);
        if (note.parentId !== null) this.#context.ledger.noteActed();
        break;
      case 'event':
        this.#ownerChanged(note.eventId, note.owner);
        break;
      case 'receipt in':
        this.mirror.receipts.set(note.receiptId, { quarantined: note.quarantined });
        break;
      case 'mutated':
        this.#breach(note.id, ['mutated', `an immutable column of the ${note.table} changed`]);
    }
  }

  #inserted(identity: ItemIdentity, state: ItemState): void {
    const item = this.mirror.add(identity, state);
    this.#touched.add(item);
    const last = this.#lastOrdinal.get(item.packId) ?? 0;
    if (item.ordinal <= last) this.#breach(item.item, ['ordinal', `${item.ordinal} after ${last}`]);
    this.#lastOrdinal.set(item.packId, Math.max(last, item.ordinal));
    for (const breach of childBreaches(this.mirror, this.#context.ledger, item))
      this.#breach(item.item, breach);
    const { conflict } = this.mirror.events.get(item.eventId)!;
    const held = conflict && this.#context.holdsConflicts(item.route);
    if (held !== (state.state === 'skipped'))
      this.#breach(item.item, [
        'wrong_outcome',
        `${conflict ? 'a conflict' : 'no conflict'}, and ${state.state}`,
      ]);
    if (state.state === 'processing' || state.epoch !== 0 || state.failures !== 0)
      this.#breach(item.item, ['illegal_transition', `began as ${state.state}, epoch ${state.epoch}`]);
  }

  #changed(workId: string, to: ItemState, at: number): void {
    const item = this.mirror.items.get(workId)!;
    const from = item.now;
    for (const breach of rowBreaches(this.#context, { item, from, to, at })) this.#breach(item.item, breach);
    this.mirror.change(item, to);
    this.#touched.add(item);
    if (to.state === 'processing') {
      // Not later than now, also by a clock that was set back since.
      item.leasedAt = this.#world.now - Math.max(0, this.#context.databaseNow() - at);
      item.leaseCommittedAt = this.#world.now;
      // Adopted by whoever claimed it and was not answered: its time begins now.
      if (this.#context.ledger.openClaims.has(to.token ?? '')) item.claimedAt = this.#world.now;
    }
    if (from.state === to.state && from.epoch === to.epoch) return;
    this.#noteActed(item, from.state, to.state);
    if (to.state === 'processing') {
      item.claimedAt = this.#world.now;
      this.claimedAt.set(item.packId, this.#world.now);
    }
    const failure = to.failures > from.failures ? to.errorCode : null;
    const { epoch, state } = to;
    const transition = {
      item: item.item,
      from: from.state,
      to: state,
      epoch,
      at: Math.max(at, this.#context.shownBefore()),
      leaseUntil: from.leaseUntil,
      failure,
    };
    this.#context.ledger.transitions.push(transition);
  }

  #noteActed({ workId }: MirrorItem, from: string, to: string): void {
    const { ledger } = this.#context;
    if (ledger.acting === null || !(from === 'held' || to === 'skipped')) return;
    ledger.noteActed();
    if (to === 'dead') ledger.endedByPeople.add(workId);
  }

  #ownerChanged(eventId: string, owner: string): void {
    const event = this.mirror.events.get(eventId)!;
    if (owner === event.owner) return;
    if (!FREE.has(event.owner) || owner !== FENCED)
      this.#breach(event.item, ['owner', `the Event went from ${event.owner} to ${owner}`]);
    event.owner = owner;
  }

  /** OWN-5: whether a commit since then began this very lease anew. */
  isRenewed({ workId, token, epoch }: Lease, since: number): boolean {
    const { now, leaseCommittedAt, claimedAt } = this.mirror.items.get(workId)!;
    // Somebody may have taken it over between that commit and its answer.
    if (now.epoch !== epoch) return claimedAt >= since;
    return now.token === token && leaseCommittedAt >= since;
  }

  /** At the end of a transaction that touched it. */
  #settled(item: MirrorItem): void {
    const { owner } = this.mirror.events.get(item.eventId)!;
    const { state, epoch } = item.now;
    const expected = epoch > 0 || TERMINAL.has(state) ? owner === FENCED : FREE.has(owner);
    if (!expected)
      this.#breach(item.item, ['owner', `${state} at epoch ${epoch}, and its Event is ${owner}`]);
    if (state === 'coalesced') this.#supersededSettled(item);
    if (unborn(this.mirror, item))
      this.#breach(item.item, ['replay', 'marked as replayed, and has no child']);
    if (item.projection !== null) this.#projectionSettled(item.projection);
    for (const lane of item.lanes) this.#laneSettled(lane);
    if (item.lanes.length === 0) this.#headSettled(item);
  }

  /** PRJ-2: what gives way, gives way to something newer of its own. */
  #supersededSettled(item: MirrorItem): void {
    const by = this.mirror.items.get(item.now.supersededBy ?? '');
    if (by !== undefined && by.projection === item.projection && by.ordinal > item.ordinal) return;
    this.#breach(item.item, ['projection', `superseded by ${by?.item ?? 'nobody'}, which is no newer one`]);
  }

  #projectionSettled(projection: string): void {
    const generations = this.mirror.generations(projection);
    const active = generations.filter(({ now }) => now.activeKey !== null);
    const queued = generations.filter((item) => item.now.state === 'pending' && item.now.activeKey === null);
    const problem =
      active.length > 1
        ? `${active.length} active generations`
        : queued.length > 1
          ? `${queued.length} queued generations`
          : queued.length === 1 && active.length === 0
            ? 'a queued generation, and none active'
            : active.some((item) => TERMINAL.has(item.now.state) || !isOpen(item))
              ? 'an ended generation is still active'
              : null;
    if (problem !== null) this.#breach(generations[0]!.item, ['projection', problem]);
  }

  #laneSettled(lane: string): void {
    const members = this.mirror.lane(lane);
    const running = members.filter(({ now }) => now.state === 'processing');
    if (running.length > 1)
      this.#breach(running[1]!.item, ['overlap', `in processing with ${running[0]!.item}`]);
    const first = members.filter(isOpen).sort((a, b) => a.ordinal - b.ordinal)[0];
    if (first !== undefined) this.#headSettled(first);
  }

  /** A head carries its mark whatever happened; a mark too many is a hint that costs a miss. */
  #headSettled(item: MirrorItem): void {
    if (!this.mirror.isHead(item)) {
      this.lostHints.delete(item);
      return;
    }
    const marked = item.now.readiness !== 0;
    if (marked && this.lostHints.delete(item)) this.repairedHints++;
    if (!marked && !this.lostHints.has(item))
      this.#breach(item.item, ['lost_mark', 'the head of its lanes carries no mark']);
  }

  /** Whether every lease that was lost ran out by the clock of its owner. */
  get expiredLeases(): number {
    return this.#context.ledger.transitions.filter(({ failure }) => failure === EXPIRED).length;
  }
}
