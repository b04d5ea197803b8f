/** The built command as a process of its own. What is started ends with the test, whatever becomes of it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { runCommand } from '../../src/cli/program.js';

const ROOT = join(import.meta.dirname, '../..');
const MAIN = join(ROOT, 'dist/cli/main.js');
export const STEERED = join(import.meta.dirname, 'packs/steered.ts');
const SECRET = 'known to the test';
/** Far beyond what anything here takes, on a machine that does ten other things. */
const LIFE_MS = 240_000;
export const SLOW = { timeout: 300_000 };

export interface Surroundings {
  readonly folder: string;
  readonly environment?: Readonly<Record<string, string>>;
}

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A folder that is removed after the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'lanehead-cli-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Output as it arrives, and what became of the process. */
export class Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  stdout = '';
  stderr = '';
  readonly #listeners = new Set<() => void>();

  constructor(command: readonly string[], { folder, environment = {} }: Surroundings) {
    const { PATH = '' } = process.env;
    const child = spawn(process.execPath, command, {
      cwd: folder,
      // Nothing of this process's variables: they would be settings.
      env: { PATH, HOME: folder, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: LIFE_MS,
      killSignal: 'SIGKILL',
    });
    this.child = child;
    onTestFinished(async () => {
      child.kill('SIGKILL');
      await this.ended;
    });
    child.stdout!.setEncoding('utf8').on('data', (text) => {
      this.stdout += text;
      this.#tell();
    });
    child.stderr!.setEncoding('utf8').on('data', (text) => {
      this.stderr += text;
      this.#tell();
    });
    this.ended = new Promise((resolve) => {
      child.on('close', (code, signal) => {
        resolve({ code, signal, stdout: this.stdout, stderr: this.stderr });
        this.#tell();
      });
    });
  }

  /** Resolves with the first value that `find` has; rejects when the process ends before. */
  async until<T>(find: (running: this) => T | undefined | null | false): Promise<T> {
    for (;;) {
      const found = find(this);
      if (found) return found;
      if (this.child.exitCode !== null || this.child.signalCode !== null) {
        const { code, signal } = await this.ended;
        const last = find(this);
        if (last) return last;
        throw new Error(`it ended with ${code ?? signal}:\n${this.stdout}\n${this.stderr}`);
      }
      await new Promise<void>((resolve) => {
        const listener = () => {
          this.#listeners.delete(listener);
          resolve();
        };
        this.#listeners.add(listener);
      });
    }
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}

function command(args: readonly string[]): string[] {
  if (!existsSync(MAIN)) throw new Error('the command is not built: npm run build');
  return [MAIN, ...args];
}

/** Starts the command and does not wait. */
export const start = (args: readonly string[], around: Surroundings): Running =>
  new Running(command(args), around);

/** Runs the command to its end. */
export const run = (args: readonly string[], around: Surroundings): Promise<Ended> =>
  start(args, around).ended;

/** Runs the command from the sources, in this process: for looking at a database again and again. */
export async function runHere(args: readonly string[], around: Surroundings): Promise<Omit<Ended, 'signal'>> {
  const stdout: string[] = [];
  const stderr: string[] = [];
  const code = await runCommand([...args, '--db', `sqlite:${join(around.folder, 'lanehead.db')}`], {
    environment: around.environment ?? {},
    print: (line) => stdout.push(line),
    complain: (line) => stderr.push(line),
  });
  return { code, stdout: stdout.join('\n'), stderr: stderr.join('\n') };
}

/** Any other program of this project, by Node. */
export const runNode = (args: readonly string[], around: Surroundings): Running => new Running(args, around);

export interface Listening {
  readonly event: string;
  readonly url: string;
  readonly adminUrl: string;
  readonly pid: number;
}

/** `lanehead serve --json` on free ports, once it listens. */
export async function serve(
  args: readonly string[],
  around: Surroundings,
): Promise<Running & { readonly listening: Listening }> {
  const free = ['--port', '0', '--admin-port', '0', '--json'];
  const running = start(['serve', ...args, ...free], around);
  const line = await running.until(({ stdout }) => stdout.includes('\n') && stdout.split('\n')[0]);
  return Object.assign(running, { listening: JSON.parse(line) as Listening });
}

/** A webhook of the steered pack. @returns the status of the answer */
export async function send(
  url: string,
  delivery: { readonly id: string; readonly type: string; readonly source: string },
): Promise<number> {
  const body = JSON.stringify({ source: delivery.source });
  const response = await fetch(url, {
    method: 'POST',
    body,
    headers: {
      'x-github-delivery': delivery.id,
      'x-github-event': delivery.type,
      'x-hub-signature-256': `sha256=${createHmac('sha256', SECRET).update(body).digest('hex')}`,
    },
  });
  await response.arrayBuffer();
  return response.status;
}
