/**
 * Which of several participants makes the next move, over many runs. Of two orders that differ only in moves which do
 * not touch each other one is enough, so by the theory of sleep sets (Godefroid, 1996) one is run:
 *
 * - a move that nobody else can meet is made at once, without a choice;
 * - a move that could as well have been made before the last one, and is tried there, sleeps until somebody makes
 *   a move that it meets. A run in which everybody left is asleep repeats another one.
 *
 * The tree of the choices made so far is kept, and a branch whose every run was made is not entered again. So when
 * the space is small all of it is run, and that is known; when it is large a sample is, the same for the same seed.
 */
export interface Relation<M> {
  /** Nobody else ever makes a move that meets this one. */
  isLocal(move: M): boolean;
  /** Made one right after the other, in either order, they leave and see the same. */
  areIndependent(one: M, other: M): boolean;
}

interface Node {
  readonly children: Map<string, Node>;
  /** Everybody whose move was to be tried here in some run. */
  readonly alternatives: Set<string>;
  exhausted: boolean;
}

const newNode = (): Node => ({ children: new Map(), alternatives: new Set(), exhausted: false });

/** A small generator of repeatable numbers in [0, 1) (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export class Interleavings<M extends { readonly name: string }> {
  readonly #relation: Relation<M>;
  readonly #random: () => number;
  #root = newNode();
  /** `null`: this run leads nowhere new. */
  #at: Node | null = null;
  #asleep: readonly M[] = [];
  #path: { readonly node: Node; readonly name: string }[] = [];
  #moves = new Map<string, number>();
  #most = new Map<string, number>();
  #runs = 0;
  #repeats = 0;

  constructor(seed: number, relation: Relation<M>) {
    this.#random = seededRandom(seed);
    this.#relation = relation;
  }

  /** True: every interleaving was run, up to the order of independent moves. */
  get exhausted(): boolean {
    return this.#root.exhausted;
  }

  /** Runs that were made and are no repetition. */
  get runs(): number {
    return this.#runs;
  }

  /** Runs that turned out to repeat another. */
  get repeats(): number {
    return this.#repeats;
  }

  /** How many there are: exact once exhausted, else an upper bound. */
  get total(): number {
    if (this.exhausted) return this.#runs;
    let total = 1;
    let placed = 0;
    for (const moves of this.#most.values()) {
      for (let move = 1; move <= moves; move++) total = (total * ++placed) / move;
    }
    return Math.round(total);
  }

  begin(): void {
    this.#at = this.#root;
    this.#asleep = [];
    this.#path = [];
    this.#moves = new Map();
  }

  /** @param enabled one move for each who can move now, in the same order of participants in every run. */
  choose(enabled: readonly M[]): M {
    const asleep = new Set(this.#asleep.map(({ name }) => name));
    const awake = enabled.filter(({ name }) => !asleep.has(name));
    if (this.#at === null || awake.length === 0) {
      this.#at = null;
      return enabled[0]!;
    }
    const local = awake.find((move) => this.#relation.isLocal(move));
    const choice = this.#descend(this.#at, local ? [local] : awake);
    if (!local) this.#moves.set(choice.name, (this.#moves.get(choice.name) ?? 0) + 1);
    return choice;
  }

  #descend(node: Node, moves: readonly M[]): M {
    for (const { name } of moves) node.alternatives.add(name);
    const open = moves.filter(({ name }) => !node.children.get(name)?.exhausted);
    // None is open only if the server did not repeat itself; then any will do.
    const candidates = open.length > 0 ? open : moves;
    const choice = candidates[Math.floor(this.#random() * candidates.length)]!;
    const tried = moves.slice(0, moves.indexOf(choice));
    this.#asleep = [...this.#asleep, ...tried].filter((move) => this.#relation.areIndependent(move, choice));
    const child = node.children.get(choice.name) ?? newNode();
    node.children.set(choice.name, child);
    this.#path.push({ node, name: choice.name });
    this.#at = child;
    return choice;
  }

  /** Closes a run. */
  finish(): void {
    if (this.#at === null) this.#repeats++;
    else this.#runs++;
    for (const [name, moves] of this.#moves) this.#most.set(name, Math.max(moves, this.#most.get(name) ?? 0));
    for (const { node, name } of this.#path.reverse()) {
      const child = node.children.get(name)!;
      child.exhausted ||= child.alternatives.size === 0;
      node.exhausted = [...node.alternatives].every((other) => node.children.get(other)?.exhausted);
      if (child.exhausted) child.children.clear();
    }
  }

  /** Forgets what was run: the relation turned out to be another. */
  restart(): void {
    this.#root = newNode();
    this.#runs = 0;
    this.#repeats = 0;
  }
}
