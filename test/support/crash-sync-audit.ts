/**
 * Reads what strace wrote down of a process on SQLite, and finds answers that left before what they promise was
 * durable. A commit is a run of frames written to the WAL of which the last one is marked; it is durable when an
 * fsync of that file, begun after the mark was written, has returned 0.
 *
 *   written ──marked frame──▶ committed ──sync begins──▶ syncing ──returns 0──▶ durable
 *      ▲                                                    └──fails──▶ (written again by the next try)
 */

/** What has to be traced for it, with the bytes of a page and its answer. */
export const AUDITED = {
  trace: ['fsync', 'fdatasync', 'pwrite64', 'write', 'writev', 'sendto'],
  stringBytes: 4_200,
} as const;

export interface SyncAudit {
  /** Answers 2xx that name a receipt. */
  readonly answers: number;
  readonly syncs: number;
  readonly failedSyncs: number;
  /** Receipts answered before they were durable. */
  readonly early: readonly string[];
}

const RECEIPT = /rcp_[0-9a-z]{26}/g;
const ANSWER = /^\d+ +(?:write|writev|sendto)\(.*"HTTP\/1\.1 20[02] /;
const WAL_WRITE = /^\d+ +pwrite64\(\d+<[^>]*-wal>, "((?:[^"\\]|\\.)*)"(?:\.\.\.)?, (\d+), /;
const RESUMED = '<... ';
const SYNC = /^\d+ +(f)(?:data)?sync\(\d+<[^>]*-wal>(.*)$/;
const SYNC_RESUMED = /^\d+ +(<\.\.\. )f(?:data)?sync resumed>(.*)$/;
const FRAME_HEADER_BYTES = 24;
/** Where a frame's header says how long the database is after its commit; 0 in all frames but the last. */
const COMMIT_MARK = { from: 4, to: 8 };

/** @param known receipts that were durable before the trace began */
export function auditSyncs(lines: readonly string[], known: ReadonlySet<string> = new Set()): SyncAudit {
  const audit = new Audit(known);
  for (const line of lines) audit.next(line);
  return audit;
}

class Audit implements SyncAudit {
  answers = 0;
  syncs = 0;
  failedSyncs = 0;
  readonly early: string[] = [];
  readonly #durable: Set<string>;
  #written: string[] = [];
  #committed: string[] = [];
  #syncing: readonly string[] = [];
  #marked = false;

  constructor(known: ReadonlySet<string>) {
    this.#durable = new Set(known);
  }

  next(line: string): void {
    const write = WAL_WRITE.exec(line);
    const sync = SYNC.exec(line) ?? SYNC_RESUMED.exec(line);
    if (write !== null) this.#write(write[1]!, Number(write[2]));
    else if (sync !== null) this.#sync(sync[1]!, sync[2]!);
    else if (ANSWER.test(line)) this.#answer(line);
  }

  /** @param how it is told: whole, or its beginning and its end each by itself */
  #sync(how: string, rest: string): void {
    if (how !== RESUMED) this.#syncing = this.#committed.splice(0);
    if (!rest.includes('<unfinished')) this.#synced(rest);
  }

  #write(text: string, bytes: number): void {
    if (bytes === FRAME_HEADER_BYTES) {
      const { from, to } = COMMIT_MARK;
      this.#marked = unescaped(text)
        .subarray(from, to)
        .some((byte) => byte !== 0);
      return;
    }
    this.#written.push(...(text.match(RECEIPT) ?? []));
    if (!this.#marked) return;
    this.#marked = false;
    this.#committed.push(...this.#written.splice(0));
  }

  #synced(rest: string): void {
    this.syncs++;
    if (/= 0$/.test(rest)) for (const receipt of this.#syncing) this.#durable.add(receipt);
    else this.failedSyncs++;
    this.#syncing = [];
  }

  #answer(line: string): void {
    const [receipt] = line.match(RECEIPT) ?? [];
    if (receipt === undefined) return;
    this.answers++;
    if (!this.#durable.has(receipt)) this.early.push(receipt);
  }
}

/** The bytes of a string as strace prints it. */
function unescaped(text: string): Buffer {
  const named: Readonly<Record<string, number>> = { n: 10, t: 9, r: 13, v: 11, f: 12 };
  const bytes = [...text.matchAll(/\\([0-7]{1,3}|.)|([^\\])/g)].map(([, escaped, plain]) => {
    if (escaped === undefined) return plain!.charCodeAt(0);
    return named[escaped] ?? (/^[0-7]/.test(escaped) ? Number.parseInt(escaped, 8) : escaped.charCodeAt(0));
  });
  return Buffer.from(bytes);
}
