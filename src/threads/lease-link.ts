import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { type MainLink, portLink } from '../executor/lease-protocol.js';
import type { LeaseThreadData } from './lease-thread.js';

/**
 * A lease keeper in a thread of its own, for engines that are reached over the network. It is there when this
 * resolves: a first message that waited for the thread to start would make every lease after it look as much
 * shorter, and none would be renewed meanwhile.
 * @throws whatever opening its connection throws
 */
export async function openLeaseThread(
  data: LeaseThreadData,
  onFailure: (error: Error) => void,
): Promise<MainLink> {
  const worker = new Worker(new URL('./lease-thread.js', import.meta.url), { workerData: data });
  await once(worker, 'message');
  let closing = false;
  worker.on('error', onFailure);
  worker.on('exit', (code) => {
    if (!closing) onFailure(new Error(`the lease thread ended with code ${code}`));
  });
  worker.unref();
  const link: MainLink = portLink(worker);
  return {
    ...link,
    send(message) {
      closing ||= message.kind === 'close';
      link.send(message);
    },
  };
}
