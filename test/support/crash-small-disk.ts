/**
 * A disk in memory that can be full. Like a private MariaDB it belongs to a small shell that waits on a pipe from
 * this process: however this process ends, the disk is unmounted and removed.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, statfsSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const RESIZE_ATTEMPTS = 10;
const GUARD = `
  folder=$1 bytes=$2
  mount -t tmpfs -o size="$bytes" lanehead-test "$folder" || { rmdir "$folder"; exit 1; }
  echo mounted
  trap '' INT
  cat >/dev/null
  umount -l "$folder"
  rmdir "$folder"
`;

export class SmallDisk {
  readonly folder: string;
  readonly #bytes: number;
  readonly #guard: ChildProcess;

  private constructor(folder: string, bytes: number, guard: ChildProcess) {
    this.folder = folder;
    this.#bytes = bytes;
    this.#guard = guard;
  }

  /** @throws Error when this user may not mount */
  static async mount(bytes: number): Promise<SmallDisk> {
    const folder = mkdtempSync(join(tmpdir(), 'lanehead-disk-'));
    const guard = spawn('sh', ['-c', GUARD, 'sh', folder, String(bytes)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const disk = new SmallDisk(folder, bytes, guard);
    const [said] = await Promise.race([once(guard.stdout!, 'data'), once(guard, 'exit')]);
    if (!String(said).includes('mounted')) throw new Error(`a small disk cannot be mounted at ${folder}`);
    return disk;
  }

  /** From now on there is room for so many bytes more. */
  leave(bytes: number): void {
    // Others write meanwhile, and a disk cannot be made smaller than what is on it.
    for (let attempt = 1; ; attempt++) {
      const { blocks, bfree, bsize } = statfsSync(this.folder);
      try {
        this.#resize((blocks - bfree) * bsize + Math.max(bytes, bsize) * 2 ** (attempt - 1));
        return;
      } catch (error) {
        if (attempt === RESIZE_ATTEMPTS) throw error;
      }
    }
  }

  /** Room as at the beginning. */
  relieve(): void {
    this.#resize(this.#bytes);
  }

  /** @returns 0 for a file that is not there */
  bytesOf(path: string): number {
    return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  }

  async unmount(): Promise<void> {
    const gone = once(this.#guard, 'exit');
    this.#guard.stdin!.end();
    await gone;
  }

  #resize(bytes: number): void {
    execFileSync('mount', ['-o', `remount,size=${bytes}`, this.folder], { stdio: 'pipe' });
  }
}
