import type { Store } from '../../src/store/store.js';

export type Verb = 'peek' | 'claim' | 'loadEvents' | 'finalize' | 'renew' | 'repairReadiness';
const VERBS: readonly Verb[] = ['peek', 'claim', 'loadEvents', 'finalize', 'renew', 'repairReadiness'];

type Hook = () => Promise<void> | undefined;

export interface VerbCall {
  readonly verb: Verb;
  readonly args: readonly unknown[];
}

/** A store with the real one behind it: records calls, and lets a test hold or break one on its way in or out. */
export class SteeredStore {
  readonly store: Store;
  readonly calls: VerbCall[] = [];
  /** Most scans (peek or claim) that were in flight at once. */
  mostScans = 0;
  #scans = 0;
  readonly #before = new Map<Verb, Hook[]>();
  readonly #after = new Map<Verb, Hook[]>();

  constructor(real: Store) {
    const steered: Record<string, unknown> = {};
    for (const verb of VERBS) {
      steered[verb] = (...args: unknown[]) =>
        this.#call({ verb, args }, () =>
          (real[verb] as (...args: unknown[]) => Promise<unknown>).apply(real, args),
        );
    }
    this.store = { ...real, ...steered } as Store;
  }

  count(verb: Verb): number {
    return this.calls.filter((call) => call.verb === verb).length;
  }

  /** The next call of the verb fails before it reaches the store. */
  failNext(verb: Verb, error: unknown): void {
    this.#push(this.#before, verb, () => {
      throw error;
    });
  }

  /** The next call of the verb is done by the store, and its answer is lost. */
  loseAnswer(verb: Verb, error: unknown): void {
    this.#push(this.#after, verb, () => {
      throw error;
    });
  }

  /** The next call of the verb is done by the store, and its answer waits for `release`. */
  holdAnswer(verb: Verb): { readonly arrived: () => boolean; readonly release: () => void } {
    let arrived = false;
    let release: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    this.#push(this.#after, verb, () => {
      arrived = true;
      return gate;
    });
    return { arrived: () => arrived, release };
  }

  #push(hooks: Map<Verb, Hook[]>, verb: Verb, hook: Hook): void {
    hooks.set(verb, [...(hooks.get(verb) ?? []), hook]);
  }

  async #call(call: VerbCall, real: () => Promise<unknown>): Promise<unknown> {
    this.calls.push(call);
    const isScan = call.verb === 'peek' || call.verb === 'claim';
    if (isScan) this.mostScans = Math.max(this.mostScans, ++this.#scans);
    try {
      await this.#before.get(call.verb)?.shift()?.();
      const answer = await real();
      await this.#after.get(call.verb)?.shift()?.();
      return answer;
    } finally {
      if (isScan) this.#scans--;
    }
  }
}
