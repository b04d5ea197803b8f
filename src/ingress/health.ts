import type { Clock } from '../core/clock.js';
import { type Answer, answer, problem } from './answer.js';

/** Resolves when the part works, rejects when it does not. */
export type HealthCheck = () => Promise<unknown>;

export interface HealthOptions {
  /** By the name it has in `/readyz`: `store`, `schema`, `coverage`. */
  readonly checks: Readonly<Record<string, HealthCheck>>;
  readonly clock: Clock;
  /** A check that takes longer counts as `timeout`. Default 2,000. */
  readonly timeoutMs?: number;
  readonly isDraining: () => boolean;
}

type CheckResult = 'ok' | 'failed' | 'timeout';

const ALLOW = Object.freeze({ allow: 'GET, HEAD' });

/** `/livez` (the process answers) and `/readyz` (send it traffic). */
export class Health {
  readonly #options: HealthOptions;
  #probing: Promise<Answer> | null = null;

  constructor(options: HealthOptions) {
    this.#options = options;
  }

  /** `null` when the path is none of the two. */
  answer(method: string, path: string): Promise<Answer> | Answer | null {
    if (path !== '/livez' && path !== '/readyz') return null;
    if (method !== 'GET' && method !== 'HEAD') return problem('method_not_allowed', ALLOW);
    return path === '/livez' ? answer(200, 'application/json', '{"live":true}') : this.#ready();
  }

  /** Askers at the same time share one look, so that a flood of them is no load on the database. */
  #ready(): Promise<Answer> {
    this.#probing ??= this.#probe().finally(() => {
      this.#probing = null;
    });
    return this.#probing;
  }

  async #probe(): Promise<Answer> {
    const names = Object.keys(this.#options.checks);
    const results = await Promise.all(names.map((name) => this.#check(this.#options.checks[name]!)));
    const ready = !this.#options.isDraining() && results.every((result) => result === 'ok');
    const checks = Object.fromEntries(names.map((name, place) => [name, results[place]]));
    return answer(ready ? 200 : 503, 'application/json', JSON.stringify({ ready, checks }));
  }

  #check(check: HealthCheck): Promise<CheckResult> {
    return new Promise((resolve) => {
      const cancel = this.#options.clock.after(this.#options.timeoutMs ?? 2_000, () => resolve('timeout'));
      const settle = (result: CheckResult): void => {
        cancel();
        resolve(result);
      };
      Promise.resolve()
        .then(check)
        .then(
          () => settle('ok'),
          () => settle('failed'),
        );
    });
  }
}
