/**
 * The measured processes. Each is a plain Node process that answers the coordinator's questions one by one:
 *
 *   start ──ready──▶ asked ──answer──▶ asked … ──stop()──▶ ended
 *     └── ends early, or takes too long ──▶ every question is rejected, and the process is killed
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';

interface Question {
  readonly name: string;
  readonly argument: unknown;
}

type Answer = { readonly value: unknown } | { readonly error: string };

const QUESTION_TIMEOUT_MS = 600_000;

export class Child {
  readonly #process: ChildProcess;

  /** @param file name in `processes/`, without extension. @param profile folder for its CPU profile, or `null` */
  constructor(file: string, profile: string | null) {
    this.#process = fork(new URL(`./processes/${file}.js`, import.meta.url), {
      execArgv: profile === null ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
  }

  get pid(): number {
    return this.#process.pid!;
  }

  async ask<T>(name: string, argument: unknown = null): Promise<T> {
    const ended = new AbortController();
    const late = setTimeout(() => this.#process.kill('SIGKILL'), QUESTION_TIMEOUT_MS);
    const exit = once(this.#process, 'exit', { signal: ended.signal }).then(() => {
      throw new Error(`the process ended before it answered "${name}"`);
    });
    try {
      this.#process.send({ name, argument } satisfies Question);
      const [answer] = (await Promise.race([once(this.#process, 'message'), exit])) as [Answer];
      if ('error' in answer) throw new Error(`${name}: ${answer.error}`);
      return answer.value as T;
    } finally {
      clearTimeout(late);
      ended.abort();
      exit.catch(() => undefined);
    }
  }

  /** CPU time it has used so far, all its threads. */
  cpuMicros(): Promise<number> {
    return this.ask('cpuMicros');
  }

  /** Ends the process if it still runs. Twice is fine. */
  async stop(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const exit = once(this.#process, 'exit');
    const late = setTimeout(() => this.#process.kill('SIGKILL'), 15_000);
    if (this.#process.connected) this.#process.disconnect();
    await exit;
    clearTimeout(late);
  }
}

export type Handlers = Readonly<Record<string, (argument: never) => unknown>>;

/**
 * The other side, in the measured process. When the coordinator disconnects, or is gone, `close` runs and the process
 * ends.
 */
export function answerParent(handlers: Handlers, close: () => unknown = () => undefined): void {
  process.on('message', (question: Question) => void reply(handlers, question));
  process.on('disconnect', () => {
    void Promise.resolve(close()).then(() => process.exit(0));
  });
}

/** One clock for all processes of the machine, that nobody sets. */
export const machineMs = (): number => Number(process.hrtime.bigint()) / 1e6;

const cpuMicros = (): number => {
  const { user, system } = process.cpuUsage();
  return user + system;
};

async function reply(handlers: Handlers, { name, argument }: Question): Promise<void> {
  try {
    const known = { cpuMicros, ...handlers } as Record<string, (argument: unknown) => unknown>;
    const handler = known[name];
    if (handler === undefined) throw new Error('no such question');
    process.send!({ value: (await handler(argument)) ?? null } satisfies Answer);
  } catch (error) {
    process.send!({
      error: error instanceof Error ? (error.stack ?? error.message) : String(error),
    } satisfies Answer);
  }
}
