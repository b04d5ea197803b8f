import { randomBytes } from 'node:crypto';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Cancel, Clock, NextTurn } from './clock.js';
import type { ProcessGauge, ProcessMeter } from './process-meter.js';
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

const LAG_RESOLUTION_MS = 20;
const NANOS = 1e9;
const MICROS = 1e6;

/** The machine's meter of this process. A timer of its own looks at the event loop; it keeps no process alive. */
export function systemProcessMeter(): ProcessMeter {
  const lag = monitorEventLoopDelay({ resolution: LAG_RESOLUTION_MS });
  lag.enable();
  return {
    read() {
      const { user, system } = process.cpuUsage();
      const { rss, heapUsed, heapTotal, external } = process.memoryUsage();
      // Node counts the time between two looks too. Without a sample there is no mean, and the maximum is 0.
      const late = (nanos: number): number =>
        Math.max(0, (Number.isNaN(nanos) ? 0 : nanos / NANOS) - LAG_RESOLUTION_MS / 1_000);
      const gauge: ProcessGauge = {
        cpuSeconds: (user + system) / MICROS,
        startedAtSeconds: performance.timeOrigin / 1_000,
        residentBytes: rss,
        heapUsedBytes: heapUsed,
        heapTotalBytes: heapTotal,
        externalBytes: external,
        lagMeanSeconds: late(lag.mean),
        lagP99Seconds: late(lag.percentile(99)),
        lagMaxSeconds: late(lag.max),
      };
      lag.reset();
      return gauge;
    },
    close: () => void lag.disable(),
  };
}
