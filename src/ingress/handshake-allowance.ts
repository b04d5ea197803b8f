/** Bodies of one route that are read under overload because they may be a handshake, in a row and per second. */
const PER_SECOND = 10;

/**
 * Handshakes by POST look like deliveries until their body is read, so under overload a few small bodies are: a bucket of
 * ten that fills up again within a second, one for each route.
 */
export class HandshakeAllowance {
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
