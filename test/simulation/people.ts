/** People who decide on what is held: in the middle of everything, and on all that is left once the faults are over. */
import { decideHeld } from '../../src/store/verbs/held.js';
import type { MirrorItem } from './row-mirror.js';
import type { Scene } from './scene.js';
import type { Seeded } from './seeded.js';

const LOOK_MS = [100, 1_500] as const;
/** In some worlds nobody is there, and what is held stays held. */
const ABSENT_SHARE = 0.3;

export class People {
  readonly present: boolean;
  readonly #scene: Scene;
  readonly #random: Seeded;
  readonly #retried = new Set<MirrorItem>();
  decisions = 0;

  constructor(scene: Scene) {
    this.#scene = scene;
    this.#random = scene.world.random.stream('people');
    this.present = !this.#random.chance(ABSENT_SHARE);
    if (this.present) this.#plan();
  }

  #plan(): void {
    const [least, most] = LOOK_MS;
    this.#scene.world.after(this.#random.between(least, most), null, () => {
      this.#look();
      this.#plan();
    });
  }

  #look(): void {
    const { audit, database, ledger, world } = this.#scene;
    if (database.holder !== null) return;
    const held = [...audit.mirror.items.values()].filter(({ now }) => now.state === 'held');
    if (held.length === 0) return;
    const item = this.#random.pick(held);
    // Once: what fails for ever would be retried for ever.
    const retry = !this.#retried.has(item) && this.#random.chance(0.5);
    const decision = retry ? 'retry' : this.#random.pick(['skip', 'end'] as const);
    if (retry) this.#retried.add(item);
    world.trace.note(`somebody decides on ${item.item}: ${decision}`);
    ledger.decisions.set(item.workId, decision);
    try {
      database.act(decideHeld(item.eventId, decision));
      this.decisions++;
    } catch (error) {
      world.violation('bug', item.item, `to ${decision} it threw ${(error as Error).stack ?? error}`);
    }
  }
}
