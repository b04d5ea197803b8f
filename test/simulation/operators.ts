/**
 * Whoever runs the system: pauses its pack in the database and resumes it, and takes the pack out of one process and
 * back into it. All is as it should be again when the faults end.
 */
import { setPackStatus } from '../../src/store/verbs/authority.js';
import type { Fleet } from './fleet.js';
import type { Scene } from './scene.js';
import type { Seeded } from './seeded.js';
import type { Life } from './virtual-process.js';

const EVERY_MS = [300, 3_000] as const;
const FOR_MS = [50, 6_000] as const;
/** While a transaction is open, somebody beside it waits. */
const BUSY_MS = 3;
/** A process reads the installations every two seconds; what is in its way counts as a hardship beyond that. */
const NOTICED_MS = 3_500;

export class Operators {
  readonly #scene: Scene;
  readonly #fleet: Fleet;
  readonly #random: Seeded;

  constructor(scene: Scene, fleet: Fleet) {
    this.#scene = scene;
    this.#fleet = fleet;
    this.#random = scene.world.random.stream('operators at work');
    if (scene.faults.has('pack_paused')) this.#plan(() => this.#pause());
    if (scene.faults.has('pack_removed')) this.#plan(() => this.#remove());
  }

  /** The faults are over: everything is served again, and everywhere. */
  settle(): void {
    this.#resume();
    for (const life of this.#fleet.living) void life.restore();
  }

  #plan(act: () => void): void {
    const [least, most] = EVERY_MS;
    this.#scene.world.after(this.#random.between(least, most), null, () => {
      if (this.#scene.faults.over) return;
      act();
      this.#plan(act);
    });
  }

  #lengthMs(): number {
    const [least, most] = FOR_MS;
    return this.#random.between(least, most);
  }

  #pause(): void {
    const { paused, database, faults, world } = this.#scene;
    if (paused.since !== null || database.holder !== null || this.#packId() === null) return;
    this.#set('paused');
    faults.count('pack_paused');
    world.after(this.#lengthMs(), null, () => this.#resume());
  }

  #resume(): void {
    const { paused, database, world } = this.#scene;
    if (paused.since === null) return;
    if (database.holder !== null) return void world.after(BUSY_MS, null, () => this.#resume());
    this.#judgeNoticed(paused.since);
    this.#set('active');
  }

  #set(status: 'active' | 'paused'): void {
    const { paused, database, world } = this.#scene;
    database.act(setPackStatus(this.#packId()!, status));
    paused.since = status === 'paused' ? world.now : null;
    world.trace.note(`the pack is ${status}`);
  }

  #packId(): number | null {
    const [row] = this.#scene.database.beside('SELECT PackId FROM _System_InstalledPack') as {
      readonly PackId: number;
    }[];
    return row?.PackId ?? null;
  }

  #judgeNoticed(since: number): void {
    const { world, hardships } = this.#scene;
    if (world.now - since < NOTICED_MS) return;
    for (const life of this.#fleet.living) {
      const { name, main } = life;
      const isWell = hardships.statements.lastOf(name) < since && main.pausedUntil < since;
      if (isWell && life.serves('active'))
        world.violation('out_of_service', name, 'did not notice that its pack is paused');
    }
  }

  #remove(): void {
    const { faults, world } = this.#scene;
    const { living } = this.#fleet;
    if (living.length === 0) return;
    const life: Life = this.#random.pick(living);
    if (!life.remove()) return;
    faults.count('pack_removed');
    world.after(this.#lengthMs(), null, () => void life.restore());
  }
}
