/** Faults that pick their moment: one after the other, until the faults end. */
import type { FaultKind, Faults } from './faults.js';
import type { Fleet } from './fleet.js';
import type { Scene } from './scene.js';
import type { Seeded } from './seeded.js';
import type { Life } from './virtual-process.js';

const STRIKES: readonly FaultKind[] = [
  'crash',
  'crash',
  'pause',
  'blocked_loop',
  'wall_jump',
  'database_jump',
  'outage',
  'stop',
  'new_version',
  'new_version',
  'lost_hint',
];

export class Chaos {
  readonly #scene: Scene;
  readonly #fleet: Fleet;
  readonly #random: Seeded;
  readonly #faults: Faults;
  readonly #everyMs: number;

  constructor(scene: Scene, fleet: Fleet) {
    this.#scene = scene;
    this.#fleet = fleet;
    this.#faults = scene.faults;
    this.#random = scene.world.random.stream('chaos');
    this.#everyMs = this.#random.between(150, 1_500);
    this.#plan();
  }

  #plan(): void {
    this.#scene.world.after(-Math.log(1 - this.#random.float()) * this.#everyMs, null, () => {
      if (this.#faults.over) return;
      const kind = this.#random.pick(STRIKES);
      if (this.#faults.has(kind) && this.#strike(kind)) this.#faults.count(kind);
      this.#plan();
    });
  }

  /** False: there was nobody to strike. */
  #strike(kind: FaultKind): boolean {
    const { world, database, outage, settings, hardships } = this.#scene;
    const { leaseMs } = settings;
    if (kind === 'database_jump') {
      database.jump(Math.round(this.#random.between(-leaseMs, 2 * leaseMs)));
      return true;
    }
    if (kind === 'outage') {
      outage.until = world.now + this.#random.between(20, 3 * leaseMs);
      for (const { name } of this.#fleet.living) hardships.stands(name, outage.until - world.now);
      return true;
    }
    if (kind === 'lost_hint') return this.#loseHint();
    const { living } = this.#fleet;
    if (living.length === 0) return false;
    return this.#strikeLife(kind, this.#random.pick(living));
  }

  #strikeLife(kind: FaultKind, life: Life): boolean {
    const { database, settings } = this.#scene;
    const { leaseMs } = settings;
    switch (kind) {
      case 'crash':
        life.crash();
        return true;
      case 'pause':
        this.#standStill(life, this.#random.between(0.2, 4) * leaseMs, true);
        // The server may notice, or the others wait for its lock until it goes on.
        if (this.#random.chance(0.6)) database.giveUp(life);
        return true;
      case 'blocked_loop':
        this.#standStill(life, this.#random.between(0.2, 3) * leaseMs, false);
        return true;
      case 'wall_jump':
        life.jumpWall(Math.round(this.#random.between(-3_600_000, 3_600_000)));
        return true;
      case 'stop':
        void life.stop(this.#random.between(0, 1_500));
        return true;
      default:
        return this.#upgrade(life);
    }
  }

  #standStill(life: Life, forMs: number, whole: boolean): void {
    life.pause(forMs, whole);
    this.#faults.lasts(forMs);
  }

  /** A rolling deploy: one process takes a newer version, at once or when it starts again. */
  #upgrade(life: Life): boolean {
    const version = this.#fleet.release();
    this.#fleet.upgrade(life, version);
    if (this.#random.chance(0.5)) void life.replace(version);
    else void life.stop(this.#random.between(0, 1_500));
    return true;
  }

  /** A head loses its mark, as to an older writer's bug; only the repair sweep can find it again. */
  #loseHint(): boolean {
    const { audit, database } = this.#scene;
    if (database.holder !== null) return false;
    const heads = [...audit.mirror.items.values()].filter(
      (item) => item.now.readiness !== 0 && audit.mirror.isHead(item),
    );
    if (heads.length === 0) return false;
    const head = this.#random.pick(heads);
    audit.lostHints.add(head);
    database.beside('UPDATE _System_ConnectorWorkItem SET Readiness = 0 WHERE WorkId = ?', head.workId);
    return true;
  }
}
