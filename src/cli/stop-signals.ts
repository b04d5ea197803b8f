import { constants } from 'node:os';

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;
export type StopReason = (typeof SIGNALS)[number] | 'uncaughtException';

export interface StopSignals {
  /** Resolves at the first signal, or at an error that must end the process. */
  readonly first: Promise<StopReason>;
  /** What `first` resolved with, at once. */
  readonly received: StopReason | null;
  /** The first error that must end the process. */
  readonly failure: Error | null;
  /** Stops as a signal does, because of `error`. */
  fail(error: Error): void;
}

/**
 *   running ──signal or fail()──▶ stopping ──signal──▶ gone, at once, with 128 + the signal's number
 *
 * Called before anything is started, so that a signal during start stops it too.
 */
export function listenForStop(): StopSignals {
  let received: StopReason | null = null;
  let failure: Error | null = null;
  let resolve: (reason: StopReason) => void;
  const first = new Promise<StopReason>((settle) => {
    resolve = settle;
  });
  const stop = (reason: StopReason): void => {
    received ??= reason;
    resolve(received);
  };
  for (const signal of SIGNALS) {
    process.on(signal, () => {
      if (received !== null) process.exit(128 + constants.signals[signal]);
      stop(signal);
    });
  }
  return {
    first,
    get received() {
      return received;
    },
    get failure() {
      return failure;
    },
    fail(error) {
      failure ??= error;
      stop('uncaughtException');
    },
  };
}
