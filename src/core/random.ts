/** All the chance a part may see; passed in everywhere, `Math.random` is banned outside `system.ts`. */
export interface Random {
  /** Uniform in [0, 1). */
  float(): number;
  /** `count` bytes, unpredictable in production (they become lease tokens and ids). */
  bytes(count: number): Uint8Array;
}
