/** One crash test: a database, the ledger of its flows, the processes it started. Nothing of it outlives `close`. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CrashDatabase, itemRows, transitionRows } from './crash-database.js';
import { ServerProcess, type ServerSpec } from './crash-process.js';
import { RunLedger } from './crash-run-ledger.js';
import type { History, SentItem, Violation } from './history.js';
import { checkHistory } from './history-checker.js';

const LOOK_EVERY_MS = 3;
/** Violations; one bug can cause thousands. */
const MOST_SHOWN = 20;
const PATIENCE_MS = 120_000;

export const SECRET = 'a secret of the crash tests';

export class CrashBench {
  readonly database: CrashDatabase;
  readonly ledger: RunLedger;
  readonly #folder = mkdtempSync(join(tmpdir(), 'lanehead-crash-'));
  readonly #processes: ServerProcess[] = [];

  constructor(database: CrashDatabase) {
    this.database = database;
    this.ledger = new RunLedger(join(this.#folder, 'runs.jsonl'));
  }

  /** @param spec `databaseUrl`: another way to the same database. */
  spawn(name: string, spec: Partial<Omit<ServerSpec, 'secret'>> = {}): ServerProcess {
    const whole = { databaseUrl: this.database.url, ...spec, secret: SECRET };
    const process = new ServerProcess(name, whole, this.ledger);
    this.#processes.push(process);
    return process;
  }

  /** Path of a signal file that does not exist yet. */
  signal(name: string): string {
    return join(this.#folder, name);
  }

  raise(path: string): void {
    writeFileSync(path, '');
  }

  /** What happened, once every process has ended or nothing is going on any more. */
  async history(sent: readonly SentItem[]): Promise<History> {
    const stored = await itemRows(this.database);
    return { sent, stored, runs: this.ledger.records, transitions: await transitionRows(this.database) };
  }

  async violations(sent: readonly SentItem[]): Promise<readonly Violation[]> {
    return checkHistory(await this.history(sent)).slice(0, MOST_SHOWN);
  }

  async close(): Promise<void> {
    await Promise.all(this.#processes.map((process) => process.kill()));
    this.ledger.close();
    rmSync(this.#folder, { recursive: true, force: true });
    await this.database.close();
  }
}

/** Waits for a condition, not for time; the bound only ends a test that hangs. */
export async function eventually(
  condition: () => boolean | Promise<boolean>,
  what: string,
  patienceMs: number = PATIENCE_MS,
): Promise<void> {
  const until = performance.now() + patienceMs;
  while (!(await condition())) {
    if (performance.now() > until) throw new Error(`never happened: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}
