/** What a draft says of its body and of the events that have it for their payload. */
interface BodyUse {
  readonly body: Uint8Array;
  readonly events: readonly { readonly payload: Uint8Array | null }[];
}

/** Bytes that the copies of one body, beyond the first, may take together. */
const MAX_COPIES_BYTES = 2 ** 20;

/**
 * Bytes of the body's copies beyond the first when every event that has it for its payload holds one: what processes
 * of an older version can read, and nothing else.
 */
export function copiedBytes({ body, events }: BodyUse): number {
  const users = events.reduce((count, { payload }) => count + (payload === null ? 1 : 0), 0);
  return Math.max(0, users - 1) * body.length;
}

/**
 * True: the receipt alone holds the body, and an Event without bytes of its own stands for it. One request must not be
 * multiplied by the number of its events.
 */
export const isBodyShared = (use: BodyUse): boolean =>
  copiedBytes(use) > MAX_COPIES_BYTES && !use.events.some(({ payload }) => payload?.length === 0);
