import type { Clock } from './clock.js';

/** Below what a lease leaves between its holder's last act and its end (a sixth), with room to spare. */
const MOST_SLEW = 0.1;

/**
 * A wall clock that does not jump: it advances with the monotonic clock and leans towards `clock`'s wall time by a
 * tenth of its speed at most. A clock set forward then ends no lease that its holder keeps, and one set back makes
 * nothing wait that was due: what lasts a minute lasts a minute, more or less a tenth, while the two come together.
 */
export function steadyClock(clock: Clock): Clock {
  let told = clock.now();
  let toldAt = clock.monotonic();
  return {
    monotonic: () => clock.monotonic(),
    after: (delayMs, fire) => clock.after(delayMs, fire),
    sleep: (delayMs, signal) => clock.sleep(delayMs, signal),
    now() {
      const at = clock.monotonic();
      const elapsed = at - toldAt;
      const most = MOST_SLEW * elapsed;
      const correction = clock.now() - (told + elapsed);
      told += elapsed + Math.min(most, Math.max(-most, correction));
      toldAt = at;
      return Math.floor(told);
    },
  };
}
