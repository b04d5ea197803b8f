import type { Cancel, Clock, NextTurn } from '../core/clock.js';
import type { Lease } from '../core/work.js';
import { HeldLease } from './held-lease.js';
import type { FromKeeper, MainLink } from './lease-protocol.js';

export interface LeaseHandleOptions {
  readonly link: MainLink;
  readonly clock: Clock;
  readonly nextTurn: NextTurn;
  readonly leaseMs: number;
}

export interface LeaseLimits {
  /** When the claim was sent; monotonic. */
  readonly sentAt: number;
  /** When renewing ends, whatever happens; monotonic. */
  readonly renewUntil: number;
}

const BEATS_PER_LEASE = 12;

/** The main thread's side of lease keeping: says which leases are held, beats, and hears what became of them. */
export class LeaseHandle {
  readonly #options: LeaseHandleOptions;
  readonly #beatBuffer = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  readonly #beats = new Int32Array(this.#beatBuffer);
  readonly #held = new Map<number, HeldLease>();
  readonly #closed: Promise<void>;
  #resolveClosed: () => void = () => undefined;
  #untracked: number[] = [];
  #flushPlanned = false;
  #closing = false;
  #cancelBeat: Cancel | null = null;
  #lastId = 0;

  constructor(options: LeaseHandleOptions) {
    this.#options = options;
    this.#closed = new Promise((resolve) => {
      this.#resolveClosed = resolve;
    });
    options.link.receive((message) => this.#hear(message));
    options.link.send({ kind: 'open', leaseMs: options.leaseMs, beats: this.#beatBuffer });
  }

  get size(): number {
    return this.#held.size;
  }

  /** One message for a whole claim, sent before any of its flows can block this thread. */
  track(leases: readonly Lease[], limits: LeaseLimits): readonly HeldLease[] {
    const { link, clock, leaseMs } = this.#options;
    const held = leases.map((lease) => new HeldLease(++this.#lastId, lease, limits.sentAt, leaseMs));
    for (const one of held) this.#held.set(one.id, one);
    const { sentAt, renewUntil } = limits;
    const track = held.map(({ id, lease }) => ({ id, lease, sentAt, renewUntil }));
    link.send({ kind: 'leases', at: clock.monotonic(), track, untrack: this.#takeUntracked() });
    this.#beat();
    return held;
  }

  /** The item is finalized, or given up. Gathered: one message for all that end in one turn. */
  untrack(held: HeldLease): void {
    if (!this.#held.delete(held.id)) return;
    held.onLost = null;
    this.#untracked.push(held.id);
    if (this.#flushPlanned) return;
    this.#flushPlanned = true;
    this.#options.nextTurn(() => this.#flush());
  }

  /** Resolves when the keeper has answered its last renewal. Repeatable. */
  close(): Promise<void> {
    if (!this.#closing) this.#options.link.send({ kind: 'close' });
    this.#closing = true;
    this.#cancelBeat?.();
    return this.#closed;
  }

  #takeUntracked(): readonly number[] {
    return this.#untracked.splice(0);
  }

  #flush(): void {
    this.#flushPlanned = false;
    if (this.#untracked.length === 0) return;
    const { link, clock } = this.#options;
    link.send({ kind: 'leases', at: clock.monotonic(), track: [], untrack: this.#takeUntracked() });
  }

  #beat(): void {
    Atomics.add(this.#beats, 0, 1);
    if (this.#cancelBeat !== null) return;
    this.#cancelBeat = this.#options.clock.after(this.#options.leaseMs / BEATS_PER_LEASE, () => {
      this.#cancelBeat = null;
      if (this.#held.size > 0) this.#beat();
    });
  }

  #hear(message: FromKeeper): void {
    if (message.kind === 'closed') {
      this.#options.link.close();
      this.#resolveClosed();
      return;
    }
    for (const id of message.ids) {
      const held = this.#held.get(id);
      if (message.kind === 'renewed') held?.renewed(message.sentAt);
      else held?.lose();
    }
  }
}
