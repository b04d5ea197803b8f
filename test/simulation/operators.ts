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
    for (const packId of [...this.#scene.paused.keys()]) this.#resume(packId);
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
    if (database.holder !== null) return;
    const running = this.#packIds().filter((packId) => !paused.has(packId));
    if (running.length === 0) return;
    const packId = this.#random.pick(running);
    this.#set(packId, 'paused');
    faults.count('pack_paused');
    world.after(this.#lengthMs(), null, () => this.#resume(packId));
  }

  #resume(packId: number): void {
    const { paused, database, world } = this.#scene;
    const since = paused.get(packId);
    if (since === undefined) return;
    if (database.holder !== null) return void world.after(BUSY_MS, null, () => this.#resume(packId));
    this.#judgeNoticed(packId, since);
    this.#set(packId, 'active');
  }

  #set(packId: number, status: 'active' | 'paused'): void {
    const { paused, database, world } = this.#scene;
    database.act(setPackStatus(packId, status));
    if (status === 'paused') paused.set(packId, world.now);
    else paused.delete(packId);
    world.trace.note(`pack ${packId} is ${status}`);
  }

  #packIds(): readonly number[] {
    const rows = this.#scene.database.beside('SELECT PackId FROM _System_InstalledPack ORDER BY PackId');
    return (rows as { readonly PackId: number }[]).map((row) => row.PackId);
  }

  #judgeNoticed(packId: number, since: number): void {
    const { world, hardships } = this.#scene;
    if (world.now - since < NOTICED_MS) return;
    for (const life of this.#fleet.living) {
      const { name, main } = life;
      const isWell = hardships.statements.lastOf(name) < since && main.pausedUntil < since;
      if (isWell && life.serves('active', packId))
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
