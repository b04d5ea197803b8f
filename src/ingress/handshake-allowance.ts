/** Bodies of one route that are read under overload because they may be a handshake, in a row and per second. */
const PER_SECOND = 10;
/** An address that took nothing for so long is a newcomer. */
const NEWCOMER_MS = 10_000;

class Bucket {
  #tokens = PER_SECOND;
  #filledAtMs = 0;

  take(nowMs: number): boolean {
    const gained = ((nowMs - this.#filledAtMs) / 1_000) * PER_SECOND;
    this.#tokens = Math.min(PER_SECOND, this.#tokens + gained);
    this.#filledAtMs = nowMs;
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }
}

/**
 * Handshakes by POST look like deliveries until their body is read, so under overload a few small bodies are: a bucket of
 * ten that fills up again within a second, one for each route. When it is empty a second such bucket serves addresses
 * that have taken nothing for ten seconds: one sender of small bodies cannot use up what a provider's handshake needs, a
 * hundred addresses can.
 */
export class HandshakeAllowance {
  readonly #anybody = new Bucket();
  readonly #newcomers = new Bucket();
  /** When each last took, oldest first. No more of them than the buckets give in that time. */
  readonly #lastTookMs = new Map<string, number>();

  take(nowMs: number, address: string): boolean {
    this.#forget(nowMs);
    const network = networkOf(address);
    const isNewcomer = !this.#lastTookMs.has(network);
    if (!this.#anybody.take(nowMs) && !(isNewcomer && this.#newcomers.take(nowMs))) return false;
    this.#lastTookMs.delete(network);
    this.#lastTookMs.set(network, nowMs);
    return true;
  }

  #forget(nowMs: number): void {
    for (const [network, tookMs] of this.#lastTookMs) {
      if (nowMs - tookMs < NEWCOMER_MS) return;
      this.#lastTookMs.delete(network);
    }
  }
}

/** Of IPv6 the first 64 bits: one sender has all the addresses below them. */
function networkOf(address: string): string {
  if (!address.includes(':') || address.includes('.')) return address;
  const [head = '', tail] = address.split('::');
  const groups = head === '' ? [] : head.split(':');
  if (tail !== undefined) {
    const behind = tail === '' ? 0 : tail.split(':').length;
    while (groups.length + behind < 8) groups.push('0');
  }
  return groups.slice(0, 4).join(':');
}
