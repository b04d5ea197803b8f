import type { Clock } from '../core/clock.js';
import type { WorkItemService } from '../store/store.js';
import { createLeaseKeeper, type LeaseKeeper } from './lease-keeper.js';
import { type KeeperLink, localLinks, type MainLink, type ToKeeper } from './lease-protocol.js';

/**
 * The two clocks are one clock with two origins. A message can only arrive later than it was sent, so the
 * smallest difference ever seen is the best guess of the offset, and never too small: a time handed back to the
 * main thread is never later than the truth, and a lease is believed too short rather than too long.
 */
class ClockOffset {
  #offset = Number.POSITIVE_INFINITY;

  observe(mainAt: number, here: number): void {
    this.#offset = Math.min(this.#offset, here - mainAt);
  }

  toHere(mainAt: number): number {
    return mainAt + this.#offset;
  }

  toMain(here: number): number {
    return here - this.#offset;
  }
}

/** Serves one main thread from wherever this runs: the thread of the store, or one of its own. */
export function hostLeaseKeeper(
  link: KeeperLink,
  service: Pick<WorkItemService, 'renew'>,
  clock: Clock,
): void {
  const offset = new ClockOffset();
  let keeper: LeaseKeeper | null = null;

  const open = (message: Extract<ToKeeper, { kind: 'open' }>): LeaseKeeper => {
    const beats = new Int32Array(message.beats);
    return createLeaseKeeper({
      service,
      clock,
      leaseMs: message.leaseMs,
      beats: () => Atomics.load(beats, 0),
      onRenewed: (ids, sentAt) => link.send({ kind: 'renewed', ids, sentAt: offset.toMain(sentAt) }),
      onLost: (ids) => link.send({ kind: 'lost', ids }),
    });
  };

  const change = (message: Extract<ToKeeper, { kind: 'leases' }>): void => {
    offset.observe(message.at, clock.monotonic());
    keeper?.untrack(message.untrack);
    if (message.track.length === 0) return;
    keeper?.track(
      message.track.map(({ id, lease, sentAt, renewUntil }) => ({
        id,
        lease,
        sentAt: offset.toHere(sentAt),
        renewUntil: offset.toHere(renewUntil),
      })),
    );
  };

  const close = async (): Promise<void> => {
    await keeper?.close();
    link.send({ kind: 'closed' });
    link.close();
  };

  link.receive((message) => {
    if (message.kind === 'open') keeper = open(message);
    else if (message.kind === 'leases') change(message);
    else void close();
  });
}

/** A keeper in this thread, for tests and simulation: it renews only when this thread lets it. */
export function localLeaseKeeper(service: Pick<WorkItemService, 'renew'>, clock: Clock): MainLink {
  const links = localLinks();
  hostLeaseKeeper(links.keeper, service, clock);
  return links.main;
}
