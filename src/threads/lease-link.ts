import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Clock } from '../core/clock.js';
import { type MainLink, portLink } from '../executor/lease-protocol.js';
import type { LeaseThreadData } from './lease-thread.js';

export interface LeaseThread {
  readonly link: MainLink;
  /** Resolves when the thread has ended: by itself once its link is closed, or because it took too long. */
  ended(): Promise<void>;
}

/** To say goodbye to its server. */
const END_MS = 1_000;

/**
 * A lease keeper in a thread of its own, for engines that are reached over the network. It is there when this
 * resolves: a first message that waited for the thread to start would make every lease after it look as much
 * shorter, and none would be renewed meanwhile.
 * @throws whatever opening its connection throws
 */
export async function openLeaseThread(
  data: LeaseThreadData,
  clock: Clock,
  onFailure: (error: Error) => void,
): Promise<LeaseThread> {
  const worker = new Worker(new URL('./lease-thread.js', import.meta.url), { workerData: data });
  await once(worker, 'message');
  let closing = false;
  worker.on('error', onFailure);
  const exited = new Promise<void>((resolve) => {
    worker.on('exit', (code) => {
      if (!closing) onFailure(new Error(`the lease thread ended with code ${code}`));
      resolve();
    });
  });
  worker.unref();
  const link: MainLink = portLink(worker);
  return {
    link: {
      ...link,
      send(message) {
        closing ||= message.kind === 'close';
        link.send(message);
      },
    },
    async ended() {
      closing = true;
      const late = new AbortController();
      await Promise.race([exited, clock.sleep(END_MS, late.signal)]);
      late.abort();
      await worker.terminate();
    },
  };
}
