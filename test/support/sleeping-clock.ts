/** A clock on which a sleep is over at once and written down. */
export function clockThatSleeps() {
  const sleeps: number[] = [];
  const clock = {
    now: () => 0,
    monotonic: () => 0,
    after: () => () => undefined,
    sleep: async (delayMs: number) => void sleeps.push(delayMs),
  };
  return { clock, sleeps };
}
