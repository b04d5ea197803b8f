import { isPromise } from 'node:util/types';

/**
 * True for a promise where only a plain value is allowed. Its rejection is taken off it, and off what its `then`
 * returns (an `async then` returns one more), since nobody will await them and an unhandled one ends the process.
 */
export function isStrayPromise(value: unknown): boolean {
  const then: unknown = (value as PromiseLike<unknown> | null | undefined)?.then;
  if (typeof then !== 'function') return false;
  const derived: unknown = then.call(value, undefined, () => {});
  if (isPromise(derived)) derived.then(undefined, () => {});
  return true;
}

const MAX_LOOKS = 10_000;

/**
 * Takes the rejections off all promises in a value that is thrown away, within bounds and the nearest first, so that
 * one deep part does not use up the looks at the others. Never throws.
 */
export function dropPromises(discarded: unknown): void {
  const seen = new Set<unknown>();
  const open = [discarded];
  for (let place = 0; place < Math.min(open.length, MAX_LOOKS); place++) {
    const value = open[place];
    if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value) || seen.has(value)) continue;
    seen.add(value);
    const parts = value as Readonly<Record<string, unknown>>;
    attempt(() => isStrayPromise(value));
    attempt(() => {
      for (const key of Object.keys(parts)) attempt(() => open.push(parts[key]));
    });
  }
}

/** A getter or a trap that throws has nothing behind it. */
function attempt(read: () => unknown): void {
  try {
    read();
  } catch {}
}
