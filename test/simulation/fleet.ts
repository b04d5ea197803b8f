import type { ProcessTraits } from './process-traits.js';
import type { Scene } from './scene.js';
import { Life } from './virtual-process.js';

const RESTART_MS = [20, 1_500] as const;

interface Member {
  readonly name: string;
  readonly traits: ProcessTraits;
  life: Life | null;
  lives: number;
  version: number;
}

/** All processes of a world, started again when they end. */
export class Fleet {
  readonly #scene: Scene;
  readonly #members: readonly Member[];
  readonly #random;
  #newest = 1;
  #closing = false;

  constructor(scene: Scene, traits: readonly ProcessTraits[]) {
    this.#scene = scene;
    this.#random = scene.world.random.stream('fleet');
    this.#members = traits.map((one, n) => ({
      name: `p${n}`,
      traits: one,
      life: null,
      lives: 0,
      version: 1,
    }));
    for (const member of this.#members) this.#start(member);
  }

  /** Lives that are not over, whatever they are doing. */
  get living(): readonly Life[] {
    return this.#members.flatMap(({ life }) => (life === null ? [] : [life]));
  }

  get lives(): number {
    return this.#members.reduce((sum, { lives }) => sum + lives, 0);
  }

  /** Where a load balancer sends a request: to any process, up or not. */
  pick(): Life | null {
    const takers = this.#members.filter(({ traits }) => traits.role !== 'worker');
    const { life } = this.#random.pick(takers);
    return life?.serving ? life : null;
  }

  /** A version nobody has yet; whoever starts from now on may have it. */
  release(): number {
    return ++this.#newest;
  }

  /** The life goes on with it when it starts again. */
  upgrade(life: Life, version: number): void {
    for (const member of this.#members) if (member.life === life) member.version = version;
  }

  /** From now on everybody starts with the newest version. Who knows its routes goes on, and follows its incarnation. */
  settle(): void {
    for (const member of this.#members) member.version = this.#newest;
    const { routeVersionOf } = this.#scene;
    for (const life of this.living) {
      if (routeVersionOf(life.version) < routeVersionOf(this.#newest)) life.crash();
    }
  }

  /** Nobody starts again; resolves when all have ended. */
  async close(timeoutMs: number): Promise<void> {
    this.#closing = true;
    await Promise.all(this.living.map((life) => life.stop(timeoutMs)));
  }

  #start(member: Member): void {
    const name = `${member.name}#${++member.lives}`;
    member.life = new Life(this.#scene, member.traits, name, member.version, () => {
      member.life = null;
      if (this.#closing) return;
      const [least, most] = RESTART_MS;
      this.#scene.world.after(this.#random.between(least, most), null, () => this.#start(member));
    });
  }
}
