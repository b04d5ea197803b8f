/**
 * Outcomes of all slots of a process, gathered into one transaction while the one before is in flight.
 *
 *   idle ──outcome──▶ gathering ──next turn──▶ sending ──answered, more waits──▶ sending
 *    ▲                                          │   ▲ └──answered──▶ idle
 *    └───────────────── all given up ◀──────────┤   │
 *                                        outage ▼   │ the same batch again: a repeat is recognized
 *                                              resting
 */
import type { Clock, NextTurn } from '../core/clock.js';
import { type Foreground, SHORT_BATCH } from '../core/foreground.js';
import type { Outcome } from '../core/outcome.js';
import type { Random } from '../core/random.js';
import { type RetryPolicy, retryDelayMs } from '../core/retry.js';
import type { Lease, WorkItemState } from '../core/work.js';
import type { Finalization, FinalizeResult, WorkItemService } from '../store/store.js';
import { isPassing } from './event-loading.js';

export type FinalizationReport =
  | { readonly kind: 'applied'; readonly state: WorkItemState; readonly failures: number }
  /** Token or epoch no longer match: nothing was changed. */
  | { readonly kind: 'lost' }
  /** Given up; whether it was applied is not known. */
  | { readonly kind: 'unreported'; readonly error: unknown };

export interface FinalizerOptions {
  readonly service: Pick<WorkItemService, 'finalize'>;
  readonly foreground: Pick<Foreground, 'isActive' | 'turn'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly nextTurn: NextTurn;
  /** How long an outcome is offered to a failing store. By then its lease should be long lost. */
  readonly giveUpMs: number;
}

interface Entry {
  readonly finalization: Finalization;
  readonly giveUpAt: number;
  readonly settle: (report: FinalizationReport) => void;
}

/** One statement of the store takes so many. */
const MAX_BATCH = 256;
const PATIENCE: RetryPolicy = { attempts: Number.POSITIVE_INFINITY, baseMs: 50, maxMs: 2_000 };

export class Finalizer {
  readonly #options: FinalizerOptions;
  readonly #unsettled = new Set<Entry>();
  #queue: Entry[] = [];
  #busy = false;
  #closed = false;

  constructor(options: FinalizerOptions) {
    this.#options = options;
  }

  /** Outcomes that are not durable yet. */
  get size(): number {
    return this.#unsettled.size;
  }

  /** Resolves when the outcome is durable, refused, or given up; never rejects. */
  finalize(lease: Lease, outcome: Outcome): Promise<FinalizationReport> {
    if (this.#closed) return Promise.resolve({ kind: 'unreported', error: CLOSED });
    return new Promise((settle) => {
      const giveUpAt = this.#options.clock.monotonic() + this.#options.giveUpMs;
      const entry: Entry = { finalization: { lease, outcome }, giveUpAt, settle };
      this.#unsettled.add(entry);
      this.#queue.push(entry);
      if (!this.#busy) this.#gather();
    });
  }

  /** Gives up what is not durable yet. Repeatable. */
  close(): void {
    this.#closed = true;
    this.#queue = [];
    for (const entry of this.#unsettled) this.#settle(entry, { kind: 'unreported', error: CLOSED });
  }

  #gather(): void {
    this.#busy = true;
    this.#options.nextTurn(() => void this.#drain());
  }

  async #drain(): Promise<void> {
    const { foreground } = this.#options;
    while (this.#queue.length > 0) {
      await foreground.turn();
      await this.#send(this.#queue.splice(0, foreground.isActive ? SHORT_BATCH : MAX_BATCH));
    }
    this.#busy = false;
  }

  /** Never rejects. */
  async #send(batch: readonly Entry[]): Promise<void> {
    for (let failures = 1; ; failures++) {
      const open = batch.filter((entry) => this.#unsettled.has(entry));
      if (open.length === 0) return;
      try {
        return this.#report(
          open,
          await this.#options.service.finalize(open.map((entry) => entry.finalization)),
        );
      } catch (error) {
        if (!isPassing(error)) return await this.#sendApart(open, error);
        this.#giveUpLate(open, error);
      }
      await this.#options.clock.sleep(retryDelayMs(PATIENCE, failures, this.#options.random));
    }
  }

  /** A bug in one item must not keep the others from ending. */
  async #sendApart(batch: readonly Entry[], error: unknown): Promise<void> {
    if (batch.length === 1) return this.#giveUp(batch, error);
    for (const entry of batch) await this.#send([entry]);
  }

  #giveUpLate(batch: readonly Entry[], error: unknown): void {
    const now = this.#options.clock.monotonic();
    this.#giveUp(
      batch.filter((entry) => entry.giveUpAt <= now),
      error,
    );
  }

  #report(batch: readonly Entry[], results: readonly FinalizeResult[]): void {
    for (const [place, entry] of batch.entries()) {
      const result = results[place]!;
      if (result.lost) this.#settle(entry, { kind: 'lost' });
      else this.#settle(entry, { kind: 'applied', state: result.state, failures: result.failures });
    }
  }

  #giveUp(entries: readonly Entry[], error: unknown): void {
    for (const entry of entries) this.#settle(entry, { kind: 'unreported', error });
  }

  #settle(entry: Entry, report: FinalizationReport): void {
    if (this.#unsettled.delete(entry)) entry.settle(report);
  }
}

const CLOSED = new Error('the process stopped before the outcome was durable');
