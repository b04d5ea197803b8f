/**
 * A serving process that a test may kill.
 *
 *   spawned ──starting──▶ serving ──SIGTERM──▶ stopping ──▶ exited
 *      └─────────────────────┴────────────────────┴─SIGKILL──▶ exited
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { LimitsInput } from '../../src/packs/types.js';
import type { RunLedger } from './crash-run-ledger.js';

const ROOT = join(import.meta.dirname, '../..');
const PRODUCT = process.env.LANEHEAD_TEST_PRODUCT ?? join(ROOT, 'dist/index.js');
const PROGRAM = join(ROOT, 'test/crash/server-process.mjs');
const KEPT_STDERR = 4_000;

/** What a flow does, unless its event says otherwise. `path`: a file whose appearance is the signal to go on. */
export type Behaviour =
  | { readonly kind: 'wait'; readonly ms: number }
  /** Asks for a second attempt after so long; the second one ends well. */
  | { readonly kind: 'retry'; readonly ms: number }
  | { readonly kind: 'gate' | 'block'; readonly path: string }
  | { readonly kind: 'bursts'; readonly path: string; readonly ms: number };

export interface ServerSpec {
  readonly databaseUrl: string;
  readonly secret: string;
  readonly role?: 'all' | 'worker';
  readonly drain?: Readonly<Record<string, unknown>>;
  readonly poolSize?: number;
  /** How long a graceful stop waits for flows. */
  readonly stopMs?: number;
  readonly behaviour?: Behaviour;
  /** Path of the file that lets batch reads go on; without it the route has none. */
  readonly batchRead?: string;
  readonly maxBodyBytes?: number;
  /** What the pack declares for its flows. */
  readonly limits?: LimitsInput;
  /** Looks at the permits of its schedulers again and again, and tells what it sees. */
  readonly watchPermits?: boolean;
  /** Loads everything, then waits for `go()`: the start is cheap when its turn comes. */
  readonly standby?: boolean;
  /** More environment. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface ExitStatus {
  readonly code: number | null;
  readonly signal: string | null;
}

export interface ServerMessage {
  readonly kind: 'standby' | 'starting' | 'serving' | 'claimed' | 'drained' | 'log' | 'permits' | 'phantom';
  readonly url?: string;
  readonly msg?: string;
  readonly events?: number;
  /** Looks that found permits reserved. */
  readonly looks?: number;
}

export class ServerProcess {
  readonly name: string;
  readonly messages: ServerMessage[] = [];
  readonly exited: Promise<ExitStatus>;
  readonly #child: ChildProcess;
  readonly #ledger: RunLedger;
  #killed = false;
  #stderr = '';
  #waiting: (() => void)[] = [];

  constructor(name: string, spec: ServerSpec, ledger: RunLedger) {
    if (!existsSync(PRODUCT)) throw new Error(`${PRODUCT} is missing: npm run build`);
    this.name = name;
    this.#ledger = ledger;
    const argument = JSON.stringify({ ...spec, name, ledger: ledger.path, product: PRODUCT });
    this.#child = fork(PROGRAM, [argument], {
      execArgv: [],
      env: { ...process.env, ...spec.env },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    this.#child.on('message', (message: ServerMessage) => {
      this.messages.push(message);
      this.#heard();
    });
    this.#child.stderr!.on('data', (chunk) => {
      this.#stderr = (this.#stderr + chunk).slice(-KEPT_STDERR);
    });
    this.exited = once(this.#child, 'exit').then(([code, signal]) => {
      if (!this.#killed) ledger.gone(name, signal === null ? 'stopped' : 'killed');
      this.#killed = true;
      this.#heard();
      return { code, signal };
    });
  }

  /** The first message of the kind. @throws Error when the process ends before it */
  async until(kind: ServerMessage['kind'], matches: (message: ServerMessage) => boolean = () => true) {
    for (;;) {
      const found = this.messages.find((message) => message.kind === kind && matches(message));
      if (found !== undefined) return found;
      if (this.#killed) throw new Error(`${this.name} ended before "${kind}": ${this.#stderr}`);
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  #heard(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  async url(): Promise<string> {
    return (await this.until('serving')).url!;
  }

  get pid(): number {
    return this.#child.pid!;
  }

  get isGone(): boolean {
    return this.#killed;
  }

  /** Starts one that stands by. */
  go(): void {
    this.#child.send({ kind: 'go' });
  }

  /** Waits until nothing in the database can move any more. */
  async drained(): Promise<void> {
    this.#child.send({ kind: 'drain' });
    await this.until('drained');
  }

  /** SIGKILL. What stands in the ledger after this call, the process did not do. */
  async kill(): Promise<void> {
    if (this.#killed) return;
    this.#killed = true;
    this.#child.kill('SIGKILL');
    this.#ledger.gone(this.name, 'killed');
    await this.exited;
  }

  terminate(): Promise<ExitStatus> {
    this.#child.kill('SIGTERM');
    return this.exited;
  }
}
