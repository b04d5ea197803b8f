/**
 * People who act on stored work: they decide on what is held, cancel what waits and replay what has ended, one item or
 * all that a filter finds, in the middle of everything. A long action is taken on in steps, by whoever comes next; some
 * clicks come twice. Once the faults are over they finish what was begun, and decide on all that is held.
 */
import { idMaker, type NewId } from '../../src/core/ids.js';
import type { WorkItemState } from '../../src/core/work.js';
import type { WorkAction, WorkFilter, WorkRequest } from '../../src/store/store.js';
import { act } from '../../src/store/verbs/act.js';
import type { MirrorItem } from './row-mirror.js';
import { TERMINAL } from './row-mirror.js';
import type { Scene } from './scene.js';
import type { Seeded } from './seeded.js';

const LOOK_MS = [100, 1_500] as const;
/** In some worlds nobody is there, and what is held stays held. */
const ABSENT_SHARE = 0.3;
const DOUBLE_CLICK_SHARE = 0.3;
/** What a replay makes can be replayed: somewhere it has to end. */
const MOST_REPLAYS = 6;
const MOST_CANCELS = 3;
const STATES: readonly WorkItemState[] = ['completed', 'skipped', 'dead', 'coalesced'];

export class People {
  readonly present: boolean;
  readonly #scene: Scene;
  readonly #random: Seeded;
  readonly #newId: NewId;
  readonly #retried = new Set<MirrorItem>();
  readonly #running: WorkRequest[] = [];
  readonly #begun = new Map<WorkAction, number>();
  /** Items that were changed, by kind of action. */
  readonly changed: Record<string, number> = {};

  constructor(scene: Scene) {
    this.#scene = scene;
    this.#random = scene.world.random.stream('people');
    const clock = { now: () => scene.database.now() };
    this.#newId = idMaker(clock as Parameters<typeof idMaker>[0], scene.world.random.stream('people’s ids'));
    this.present = !this.#random.chance(ABSENT_SHARE);
    if (this.present) this.#plan();
  }

  /** Nothing that was begun is left. */
  get done(): boolean {
    return this.#running.length === 0;
  }

  #plan(): void {
    const [least, most] = LOOK_MS;
    this.#scene.world.after(this.#random.between(least, most), null, () => {
      this.#look();
      this.#plan();
    });
  }

  #look(): void {
    if (this.#scene.database.holder !== null) return;
    const going = this.#running[0];
    if (going !== undefined && (this.#scene.faults.over || this.#random.chance(0.6)))
      return void this.#step(going);
    const items = [...this.#scene.audit.mirror.items.values()];
    const held = items.filter(({ now }) => now.state === 'held');
    if (held.length > 0 && (this.#scene.faults.over || this.#random.chance(0.6)))
      return void this.#decide(held);
    if (this.#scene.faults.over) return;
    if (this.#random.chance(0.3)) this.#cancel(items.filter(({ now }) => now.state === 'pending'));
    else this.#replay(items.filter(({ now }) => TERMINAL.has(now.state)));
  }

  #decide(held: readonly MirrorItem[]): void {
    const item = this.#random.pick(held);
    // Once: what fails for ever would be retried for ever.
    const retry = !this.#retried.has(item) && this.#random.chance(0.5);
    const kind = retry ? 'retry' : this.#random.pick(['skip', 'end'] as const);
    const all = this.#random.chance(0.2);
    for (const one of all ? held : [item]) if (retry) this.#retried.add(one);
    this.#begin(kind, all ? this.#groupOf(item) : { event: item.eventId });
  }

  /** The items with the same cause, or of the same source. */
  #groupOf(item: MirrorItem): WorkFilter {
    const { database, audit } = this.#scene;
    const rows = database.beside(
      'SELECT Fingerprint FROM _System_ConnectorFailure WHERE WorkId = ?',
      item.workId,
    );
    const [row] = rows as { readonly Fingerprint: string }[];
    if (row !== undefined && this.#random.chance(0.5)) return { fingerprint: row.Fingerprint };
    return { sourceKey: audit.mirror.events.get(item.eventId)!.source };
  }

  #cancel(pending: readonly MirrorItem[]): void {
    if (pending.length === 0 || !this.#mayBegin('cancel', MOST_CANCELS)) return;
    const item = this.#random.pick(pending);
    this.#begin('cancel', this.#random.chance(0.3) ? this.#groupOf(item) : { event: item.eventId });
  }

  #replay(ended: readonly MirrorItem[]): void {
    if (ended.length === 0 || !this.#mayBegin('replay', MOST_REPLAYS)) return;
    const item = this.#random.pick(ended);
    const states = this.#random.chance(0.5) ? STATES : [item.now.state as WorkItemState];
    const many = this.#random.chance(0.3);
    this.#begin('replay', many ? { ...this.#groupOf(item), states } : { event: item.eventId });
  }

  #mayBegin(kind: WorkAction, most: number): boolean {
    const begun = this.#begun.get(kind) ?? 0;
    if (begun >= most) return false;
    this.#begun.set(kind, begun + 1);
    return true;
  }

  #begin(kind: WorkAction, filter: WorkFilter): void {
    const actionId = this.#newId('act');
    const request: WorkRequest = { actionId, kind, actor: 'somebody', reason: 'it seemed right', filter };
    this.#running.push(request);
    this.#scene.world.trace.note(`somebody wants to ${kind} ${JSON.stringify(filter)}`);
    this.#step(request);
    if (this.#random.chance(DOUBLE_CLICK_SHARE)) this.#step(request);
  }

  #step(request: WorkRequest): void {
    const { database, ledger, world } = this.#scene;
    ledger.acting = request;
    try {
      const { action, changed } = database.act(act(request, { limit: this.#random.int(1, 3) }, this.#newId));
      this.changed[request.kind] = (this.changed[request.kind] ?? 0) + changed;
      if (action.status === 'finished') this.#finish(request);
    } catch (error) {
      world.violation(
        'bug',
        request.actionId,
        `to ${request.kind} it threw ${(error as Error).stack ?? error}`,
      );
    } finally {
      ledger.acting = null;
    }
  }

  #finish(request: WorkRequest): void {
    const place = this.#running.indexOf(request);
    if (place >= 0) this.#running.splice(place, 1);
  }
}
