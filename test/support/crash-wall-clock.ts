import { renameSync, writeFileSync } from 'node:fs';
import { faketimeLibrary } from './crash-tools.js';

/** The wall clock of the processes that are given its environment. Their monotonic clock stays the machine's. */
export class WallClock {
  readonly #path: string;

  /** @param path of a file that does not exist yet */
  constructor(path: string) {
    this.#path = path;
    this.set(0);
  }

  get env(): Readonly<Record<string, string>> {
    return {
      LD_PRELOAD: faketimeLibrary()!,
      FAKETIME_TIMESTAMP_FILE: this.#path,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      // The same under its older name.
      DONT_FAKE_MONOTONIC: '1',
    };
  }

  /** Jumps, in running processes too: so many seconds before or after the machine's time. */
  set(seconds: number): void {
    const next = `${this.#path}.next`;
    writeFileSync(next, `${seconds < 0 ? '-' : '+'}${Math.abs(seconds)}\n`);
    renameSync(next, this.#path);
  }
}
