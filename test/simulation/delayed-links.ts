import type {
  FromKeeper,
  KeeperLink,
  LeaseLink,
  MainLink,
  ToKeeper,
} from '../../src/executor/lease-protocol.js';
import type { Seeded } from './seeded.js';
import type { Thread, World } from './world.js';

const MESSAGE_MS = 5;

/** A main thread and a lease keeper in threads of their own: every message takes its time, and none overtakes another. */
export function delayedLinks(
  world: World,
  random: Seeded,
  main: Thread,
  keeper: Thread,
): { readonly main: MainLink; readonly keeper: KeeperLink } {
  const toMain = new Mailbox<FromKeeper>(world, random, main);
  const toKeeper = new Mailbox<ToKeeper>(world, random, keeper);
  return { main: toMain.linkTo(toKeeper), keeper: toKeeper.linkTo(toMain) };
}

class Mailbox<Received> {
  readonly #world: World;
  readonly #random: Seeded;
  readonly #thread: Thread;
  #lastAt = 0;
  #handler: (message: Received) => void = () => undefined;

  constructor(world: World, random: Seeded, thread: Thread) {
    this.#world = world;
    this.#random = random;
    this.#thread = thread;
  }

  linkTo<Sent>(other: Mailbox<Sent>): LeaseLink<Sent, Received> {
    return {
      send: (message) => other.#deliver(message),
      receive: (handler) => {
        this.#handler = handler;
      },
      close: () => undefined,
    };
  }

  #deliver(message: Received): void {
    const { now } = this.#world;
    this.#lastAt = Math.max(this.#lastAt, now + this.#random.between(0, MESSAGE_MS));
    this.#world.after(this.#lastAt - now, this.#thread, () => this.#handler(message));
  }
}
