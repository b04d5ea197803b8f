/**
 * strace on a process that is running already: it writes down system calls, or makes them fail.
 *
 *   attach ──▶ attached (every thread of the process, new ones too) ──detach()──▶ gone; the process goes on
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';

export interface StraceOptions {
  /** System calls to write down. */
  readonly trace: readonly string[];
  /** As strace takes it: `fsync,fdatasync:error=EIO:when=1+`. The call is not made, it only fails. */
  readonly inject?: string;
  /** Bytes of each string that are written down. Default 32. */
  readonly stringBytes?: number;
}

/** @param lines as `detach` gives them */
export const countInjected = (lines: readonly string[]): number =>
  lines.filter((line) => line.includes('(INJECTED)')).length;

export class Strace {
  readonly #child: ChildProcess;
  readonly #log: string;
  readonly #exited: Promise<unknown>;

  private constructor(child: ChildProcess, log: string) {
    this.#child = child;
    this.#log = log;
    this.#exited = once(child, 'exit');
  }

  /**
   * Resolves when every thread of the process is watched.
   * @param log path of the file that is written meanwhile
   */
  static async attach(pid: number, log: string, options: StraceOptions): Promise<Strace> {
    const child = spawn(
      'strace',
      [
        ...['-f', '-y', '-s', String(options.stringBytes ?? 32), '-o', log],
        ...['-e', `trace=${options.trace.join(',')}`, '-e', 'signal=none'],
        ...(options.inject === undefined ? [] : ['-e', `inject=${options.inject}`]),
        ...['-p', String(pid)],
      ],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    );
    const strace = new Strace(child, log);
    await strace.#untilAttached();
    return strace;
  }

  async #untilAttached(): Promise<void> {
    let said = '';
    await new Promise<void>((resolve, reject) => {
      this.#child.once('error', reject);
      this.#child.stderr!.once('close', () => reject(new Error(`strace could not attach: ${said}`)));
      this.#child.stderr!.on('data', (chunk) => {
        said += chunk;
        if (/attached/.test(said)) resolve();
      });
    });
  }

  /** Calls made to fail so far, from what is written down already. */
  injected(): number {
    return countInjected(this.#lines());
  }

  #lines(): readonly string[] {
    return readFileSync(this.#log, 'latin1').split('\n');
  }

  /** Lets the process go. @returns what was written down, a line for each call or half of one, in the order of events */
  async detach(): Promise<readonly string[]> {
    this.#child.kill('SIGTERM');
    await this.#exited;
    const lines = this.#lines();
    rmSync(this.#log);
    return lines;
  }
}
