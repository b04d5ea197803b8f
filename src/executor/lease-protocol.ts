/**
 * What the main thread and the lease keeper say to each other. Times in messages are the main thread's monotonic
 * clock; the keeper's side translates, because every thread has its own origin.
 */
import type { Lease } from '../core/work.js';

export interface TrackedLease {
  /** Names this tracking, not the item: an item claimed again is tracked anew. */
  readonly id: number;
  readonly lease: Lease;
  /** When the claim was sent. */
  readonly sentAt: number;
  /** No renewal is sent after this: the flow's deadline and its grace. */
  readonly renewUntil: number;
}

export type ToKeeper =
  /** `beats`: one Int32 that the main thread raises while it lives. */
  | { readonly kind: 'open'; readonly leaseMs: number; readonly beats: SharedArrayBuffer }
  | {
      readonly kind: 'leases';
      /** When it was sent. */
      readonly at: number;
      readonly track: readonly TrackedLease[];
      readonly untrack: readonly number[];
    }
  | { readonly kind: 'close' };

export type FromKeeper =
  | { readonly kind: 'renewed'; readonly sentAt: number; readonly ids: readonly number[] }
  | { readonly kind: 'lost'; readonly ids: readonly number[] }
  | { readonly kind: 'closed' };

/** One end of a two-way connection that keeps the order of messages. */
export interface LeaseLink<Sent, Received> {
  send(message: Sent): void;
  /** Called once, before the first message is expected. */
  receive(handler: (message: Received) => void): void;
  close(): void;
}

export type MainLink = LeaseLink<ToKeeper, FromKeeper>;
export type KeeperLink = LeaseLink<FromKeeper, ToKeeper>;

/** What a `MessagePort`, a `Worker` and `parentPort` have in common. */
export interface PortLike {
  postMessage(message: unknown): void;
  // biome-ignore lint/suspicious/noExplicitAny: Node types what arrives so; links give it its type.
  on(event: 'message', handler: (message: any) => void): unknown;
  unref?(): void;
  close?(): void;
}

/** Over a port; an open link does not keep the process alive. */
export function portLink<Sent, Received>(port: PortLike): LeaseLink<Sent, Received> {
  return {
    send: (message) => port.postMessage(message),
    receive(handler) {
      port.on('message', handler);
      port.unref?.();
    },
    close: () => port.close?.(),
  };
}

/** Two ends in one thread, without a port between them: delivery is a call. For simulation and tests. */
export function localLinks(): { readonly main: MainLink; readonly keeper: KeeperLink } {
  const main = new LocalEnd<FromKeeper>();
  const keeper = new LocalEnd<ToKeeper>();
  return { main: main.linkTo(keeper), keeper: keeper.linkTo(main) };
}

class LocalEnd<Received> {
  #handler: (message: Received) => void = () => undefined;

  linkTo<Sent>(other: LocalEnd<Sent>): LeaseLink<Sent, Received> {
    return {
      send: (message) => other.#handler(message),
      receive: (handler) => {
        this.#handler = handler;
      },
      close: () => undefined,
    };
  }
}
