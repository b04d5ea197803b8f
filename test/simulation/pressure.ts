/** How hard the store is pressed, as probes of all processes find it; and probes that fail, or say nothing. */
import { StoreOutage } from '../../src/store/driver.js';
import type { StorePressure } from '../../src/store/store.js';
import type { Faults } from './faults.js';
import type { Seeded } from './seeded.js';
import type { World } from './world.js';

const CALM: StorePressure = { poolWaitMs: 0, statementMs: 0, inboxDepth: null, walBytes: 0 };
const EVERY_MS = [300, 4_000] as const;
/** Now and then longer than the limiter denies without a break. */
const LONGEST_MS = 14_000;
/** Of a probe that says nothing until its trouble is over. */
const LOOK_MS = 200;

export class Pressure {
  readonly #world: World;
  readonly #faults: Faults;
  readonly #random: Seeded;
  #now: StorePressure = CALM;
  #pressedUntil = 0;
  #degraded: 'failing' | 'silent' = 'failing';
  #degradedUntil = 0;

  constructor(world: World, faults: Faults) {
    this.#world = world;
    this.#faults = faults;
    this.#random = world.random.stream('pressure');
    if (faults.has('pressed')) this.#plan(() => this.#press());
    if (faults.has('probe_degraded')) this.#plan(() => this.#degrade());
  }

  async probe(): Promise<StorePressure> {
    while (this.#degradedUntil > this.#world.now) {
      if (this.#degraded === 'failing') throw new StoreOutage('the probe failed', 'none');
      await this.#world.wait(LOOK_MS, null);
    }
    return this.#pressedUntil > this.#world.now ? this.#now : CALM;
  }

  #plan(act: () => void): void {
    const [least, most] = EVERY_MS;
    this.#world.after(this.#random.between(least, most), null, () => {
      if (this.#faults.over) return;
      act();
      this.#plan(act);
    });
  }

  #lengthMs(): number {
    const lengthMs = 100 + LONGEST_MS * this.#random.float() ** 3;
    this.#faults.lasts(lengthMs);
    return lengthMs;
  }

  #press(): void {
    if (this.#pressedUntil > this.#world.now) return;
    const share = this.#random.pick([0.3, 0.8, 1, 1.5]);
    // Between the limits of the product, and from the hard one on.
    const probes = [
      { poolWaitMs: 2_500 * share },
      { statementMs: 1_000 * share },
      { walBytes: 2 ** 30 * share },
    ];
    this.#now = { ...CALM, ...this.#random.pick(probes) };
    this.#pressedUntil = this.#world.now + this.#lengthMs();
    this.#faults.count('pressed');
  }

  #degrade(): void {
    if (this.#degradedUntil > this.#world.now) return;
    this.#degraded = this.#random.pick(['failing', 'silent'] as const);
    this.#degradedUntil = this.#world.now + this.#lengthMs();
    this.#faults.count('probe_degraded');
  }
}
