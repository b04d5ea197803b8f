import { randomBytes } from 'node:crypto';
import type { Cancel, Clock, NextTurn } from './clock.js';
import type { Random } from './random.js';

/** The longest delay of a timer, 24.8 days: for a longer one Node fires at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** A wait that no timer can hold is made of several; one without end never fires. */
function after(delayMs: number, fire: () => void): Cancel {
  let timer: NodeJS.Timeout;
  const arm = (leftMs: number): void => {
    const stepMs = Math.min(leftMs, MAX_TIMER_MS);
    timer = setTimeout(stepMs < leftMs ? () => arm(leftMs - stepMs) : fire, Math.max(0, stepMs));
  };
  arm(delayMs);
  return () => clearTimeout(timer);
}

/** The machine's clock and timers. The one place that may touch them. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after,
  sleep(delayMs, signal) {
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const done = () => {
        cancel();
        signal?.removeEventListener('abort', done);
        resolve();
      };
      const cancel = after(delayMs, done);
      signal?.addEventListener('abort', done, { once: true });
    });
  },
};

/** The machine's event loop, one turn on. */
export const systemNextTurn: NextTurn = (fire) => {
  setImmediate(fire);
};

/** Cryptographic randomness, drawn in blocks because one system call per id is slower than the id. */
export function systemRandom(blockBytes = 4096): Random {
  let block = randomBytes(blockBytes);
  let used = 0;
  const bytes = (count: number): Uint8Array => {
    if (count > blockBytes) return randomBytes(count);
    if (used + count > blockBytes) {
      block = randomBytes(blockBytes);
      used = 0;
    }
    used += count;
    return block.subarray(used - count, used);
  };
  return {
    bytes,
    float() {
      const four = bytes(4);
      const word = ((four[0]! << 24) | (four[1]! << 16) | (four[2]! << 8) | four[3]!) >>> 0;
      return word / 2 ** 32;
    },
  };
}
