import { appendFileSync, closeSync, openSync, readSync } from 'node:fs';
import { type Run, type RunRecord, runKey } from './history.js';

/** `at`: milliseconds of the machine's monotonic clock, the same for all processes; flows alone tell it. */
export type LedgerRecord = RunRecord & { readonly at?: number };

interface Counts {
  started: number;
  finished: number;
  cutOff: number;
}

const BLOCK_BYTES = 1 << 20;

/** The file to which the flows of all processes append what they do; here it is read while they write. */
export class RunLedger {
  readonly path: string;
  readonly #records: LedgerRecord[] = [];
  readonly #live = new Map<string, Run>();
  readonly #counts = new Map<string, Counts>();
  readonly #block = Buffer.alloc(BLOCK_BYTES);
  readonly #file: number;
  #read = 0;
  #rest = '';
  #torn = 0;

  constructor(path: string) {
    this.path = path;
    appendFileSync(path, '');
    this.#file = openSync(path, 'r');
  }

  /** Everything so far. */
  get records(): readonly LedgerRecord[] {
    this.#readOn();
    return this.#records;
  }

  /** Lines that a kill cut through. */
  get torn(): number {
    return this.#torn;
  }

  /** Runs that have started and not ended, of one process or of all. */
  live(process?: string): readonly Run[] {
    this.#readOn();
    return this.#liveOf(process);
  }

  /** Runs that were going on when the process went. */
  cutOff(process: string): number {
    return this.#sum(process, 'cutOff');
  }

  started(process?: string): number {
    return this.#sum(process, 'started');
  }

  finished(process?: string): number {
    return this.#sum(process, 'finished');
  }

  gone(process: string, how: 'killed' | 'stopped'): void {
    appendFileSync(this.path, `\n${JSON.stringify({ kind: 'gone', process, how })}\n`);
  }

  close(): void {
    closeSync(this.#file);
  }

  #liveOf(process: string | undefined): readonly Run[] {
    return [...this.#live.values()].filter((run) => process === undefined || run.process === process);
  }

  #sum(process: string | undefined, what: keyof Counts): number {
    this.#readOn();
    const counted = process === undefined ? [...this.#counts.values()] : [this.#countsOf(process)];
    return counted.reduce((sum, counts) => sum + counts[what], 0);
  }

  #countsOf(process: string): Counts {
    const counts = this.#counts.get(process) ?? { started: 0, finished: 0, cutOff: 0 };
    this.#counts.set(process, counts);
    return counts;
  }

  #readOn(): void {
    for (;;) {
      const bytes = readSync(this.#file, this.#block, 0, BLOCK_BYTES, this.#read);
      if (bytes === 0) return;
      this.#read += bytes;
      const lines = (this.#rest + this.#block.toString('latin1', 0, bytes)).split('\n');
      this.#rest = lines.pop()!;
      for (const line of lines) if (line !== '') this.#take(line);
    }
  }

  #take(line: string): void {
    const record = parsed(line);
    if (record === null) {
      this.#torn++;
      return;
    }
    this.#records.push(record);
    if (record.kind === 'gone') {
      this.#forget(record.process);
    } else if (record.kind === 'started') {
      this.#countsOf(record.process).started++;
      this.#live.set(runKey(record), record);
    } else {
      if (record.how === 'finished') this.#countsOf(record.process).finished++;
      this.#live.delete(runKey(record));
    }
  }

  #forget(process: string): void {
    const runs = this.#liveOf(process);
    this.#countsOf(process).cutOff = runs.length;
    for (const run of runs) this.#live.delete(runKey(run));
  }
}

function parsed(line: string): LedgerRecord | null {
  try {
    return JSON.parse(line) as LedgerRecord;
  } catch {
    return null;
  }
}
