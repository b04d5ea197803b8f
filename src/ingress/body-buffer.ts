/** From this size on a piece is kept as it came: copying it costs more than the object that holds it. */
const OWN_BYTES = 1_024;
const LEAST_BLOCK_BYTES = 256;
const MOST_BLOCK_BYTES = 65_536;
const NO_BLOCK = Buffer.alloc(0);

/**
 * The pieces of one body, in memory of about its size. A piece is an object of some 350 bytes beside what it holds, and
 * a sender may make pieces of one byte: small ones are copied together into blocks that grow with the body.
 */
export class BodyBuffer {
  /** In order; the part of `#block` from `#start` to `#end` is behind them. */
  readonly #parts: Buffer[] = [];
  #block = NO_BLOCK;
  #start = 0;
  #end = 0;
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  append(piece: Buffer): void {
    // The first is kept as it came too: a body in one piece (the rule at webhook sizes) is never copied.
    if (piece.length >= OWN_BYTES || this.#bytes === 0) {
      this.#seal();
      this.#parts.push(piece);
    } else {
      this.#gather(piece);
    }
    this.#bytes += piece.length;
  }

  /** All of it. Call it once, at the end. */
  join(): Buffer {
    this.#seal();
    return this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts, this.#bytes);
  }

  #gather(piece: Buffer): void {
    if (piece.length > this.#block.length - this.#end) {
      this.#seal();
      const grown = Math.min(Math.max(this.#bytes, LEAST_BLOCK_BYTES), MOST_BLOCK_BYTES);
      // Not of the shared pool: a small rest of it would keep all of it.
      this.#block = Buffer.allocUnsafeSlow(Math.max(grown, piece.length));
      this.#start = 0;
      this.#end = 0;
    }
    piece.copy(this.#block, this.#end);
    this.#end += piece.length;
  }

  #seal(): void {
    if (this.#end > this.#start) this.#parts.push(this.#block.subarray(this.#start, this.#end));
    this.#start = this.#end;
  }
}
