/**
 * Looks at what the schedulers of this process have reserved, a thousand times a second: permits of more slots than wait
 * in their shape are phantoms (RSV-1).
 */
const LOOK_EVERY_MS = 1;
const TELL_EVERY_MS = 100;

/** @param room URL of the folder that holds the scheduler */
export async function watchPermits(room, tell) {
  const { CentralClaimScheduler } = await import(new URL('central-claim-scheduler.js', room));
  const waiting = new Map();
  countWaiting(CentralClaimScheduler.prototype, waiting);
  let looks = 0;
  const look = () => {
    for (const [{ permits }, counts] of waiting) {
      if (permits === null) continue;
      looks++;
      const most = counts.get(permits.shape) ?? 0;
      if (permits.count > most) tell('phantom', { shape: permits.shape.name, count: permits.count, most });
    }
  };
  setInterval(look, LOOK_EVERY_MS).unref();
  setInterval(() => tell('permits', { looks }), TELL_EVERY_MS).unref();
}

/** By scheduler and shape, how many slots have asked and not been given anything. */
function countWaiting(prototype, waiting) {
  const { claimNext } = prototype;
  prototype.claimNext = async function (slot) {
    const counts = waiting.get(this) ?? new Map();
    waiting.set(this, counts);
    const add = (change) => counts.set(slot.shape, (counts.get(slot.shape) ?? 0) + change);
    add(1);
    try {
      return await claimNext.call(this, slot);
    } finally {
      add(-1);
    }
  };
}
